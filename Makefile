# make conformance: the suite on our own scripts. make test: everything that CI checks.

PYTHON ?= python3
VENV   := .venv
STAMP  := $(VENV)/.installed

# The server of another kind is tested where there is one.
ENVS := lint,kit,lua,fakeredis
ifneq ($(shell command -v redis-server),)
ENVS := $(ENVS),redis
endif

.PHONY: help conformance test bench format clean

help:
	@echo 'make conformance   test the seven Lua scripts on the bundled Valkey'
	@echo 'make test          everything that CI checks'
	@echo 'make bench         how fast the walk is, beside Hypothesis alone'
	@echo 'make format        put the sources into their format'
	@echo 'make clean         remove what these commands made'

conformance: $(STAMP)
	$(VENV)/bin/pytest conformance --backend=lua

test: $(STAMP)
	$(VENV)/bin/tox run -e $(ENVS)
ifeq ($(findstring redis,$(subst fakeredis,,$(ENVS))),)
	@echo 'not run: redis (there is no redis-server on PATH: apt-get install redis-server)'
endif

bench: $(STAMP)
	$(VENV)/bin/tox run -e bench

format: $(STAMP)
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo '$(PYTHON) is too old: name a Python 3.11 or newer, as in make PYTHON=python3.12'; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --editable '.[dev]'
	touch $@

clean:
	rm -rf $(VENV) .tox .mypy_cache .ruff_cache .pytest_cache .coverage dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
