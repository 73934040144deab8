"""What pytest loads in every run where this package is installed: as good as nothing.

Only if the suite itself is named on the command line does it bring in the plugin, with its options
and its header. In every other run it takes itself away, so that nothing of it is seen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

PLUGIN = "emq_conformance.plugin"
NAME = "emq_conformance"


def pytest_load_initial_conftests(early_config: pytest.Config, args: list[str]) -> None:
    """Bring in the plugin if an argument names the suite; else leave no trace."""
    manager = early_config.pluginmanager
    if any(arg.startswith("emq_conformance.suite") for arg in args):
        manager.import_plugin(PLUGIN)
        return
    manager.unregister(name=NAME)
    # pytest lists the distributions of its plugins in the header of a run. pluggy has no call that
    # takes one off that list; if the list ever moves, the only harm is one name in a header.
    listed = getattr(manager, "_plugin_distinfo", [])
    listed[:] = [(plugin, dist) for plugin, dist in listed if plugin.__name__ != __name__]
