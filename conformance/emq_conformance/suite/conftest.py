"""Brings in the plugin where nothing else has, and asks of each test whether it can be run."""

import pytest


def pytest_addoption(pluginmanager: pytest.PytestPluginManager) -> None:
    """Register the plugin, once."""
    if not pluginmanager.has_plugin("emq_conformance.plugin"):
        pluginmanager.import_plugin("emq_conformance.plugin")


@pytest.fixture(autouse=True)
def _offered(offered: None) -> None:
    """Skip what cannot be run here, before anything else is set up."""
