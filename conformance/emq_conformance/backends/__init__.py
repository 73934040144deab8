"""The implementations that the suite knows by name, and how it finds the others."""

import importlib
import re
from importlib.metadata import entry_points
from typing import Any, cast

from emq_conformance.backend import Backend, BackendError, Context, Factory

GROUP = "emq_conformance.backends"
"""The entry point group in which a package names its own backends."""

BUILT_IN = {"lua": "emq_conformance.backends.lua:create"}


def open_backend(name: str, context: Context) -> Backend:
    """Make the backend called `name`: a built-in, an entry point, or `package.module:factory`.

    Raises:
        BackendError: if there is no such backend, or it cannot be made.
    """
    target = BUILT_IN.get(name, name)
    if target is name:
        target = next((entry.value for entry in entry_points(group=GROUP, name=name)), name)
    if not re.fullmatch(r"[\w.]+:[\w.]*", target):
        raise BackendError(
            f"no backend is called {name!r}. There are: {', '.join(known())}; "
            "or name a factory as package.module:factory"
        )
    backend = _factory(target)(context)
    if not isinstance(backend, Backend):
        raise BackendError(f"{target} answered {backend!r}, which is no emq_conformance Backend")
    return backend


def known() -> list[str]:
    """The names of all backends that can be opened by name."""
    return sorted({*BUILT_IN, *(entry.name for entry in entry_points(group=GROUP))})


def _factory(target: str) -> Factory:
    module_name, _, attribute = target.partition(":")
    try:
        module = importlib.import_module(module_name)
    except (ImportError, TypeError, ValueError) as error:  # the latter for odd names, as `..x`
        raise BackendError(f"cannot import {module_name}: {error}") from error
    factory: Any = module
    for name in attribute.split("."):
        factory = getattr(factory, name, None)
    if not callable(factory):
        raise BackendError(f"{module_name} has no callable {attribute!r}")
    return cast("Factory", factory)
