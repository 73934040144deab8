"""The seven Lua scripts of the leased queue, and what loads them.

A script is its source and the SHA1 that the server knows it by:

>>> scripts = load()
>>> sorted(scripts) == sorted(NAMES)
True
>>> len(scripts["claim"].sha1)
40
"""

from emq_lua.loader import NAMES, Script, ScriptError, load

__all__ = ["NAMES", "Script", "ScriptError", "load"]
