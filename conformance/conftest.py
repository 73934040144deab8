"""Brings in the plugin where nothing else has."""

import pytest


def pytest_addoption(pluginmanager: pytest.PytestPluginManager) -> None:
    """Register the plugin, once."""
    if not pluginmanager.has_plugin("emq_conformance.plugin"):
        pluginmanager.import_plugin("emq_conformance.plugin")
