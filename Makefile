# What people, README and CI call. `make demo` and `make test` need nothing but Python >= 3.11 and a package index.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
DEMO ?=

.PHONY: demo test check campaigns browser wheel format install

demo: $(BIN)/.runtime  ## a real engine tuned end to end on this machine, minutes
	$(BIN)/autotune fetch demo
	$(BIN)/autotune study demo $(DEMO)

test: check  ## everything that CI runs
	$(BIN)/autotune fetch demo
	$(BIN)/pytest -m 'not engine and not long' --numprocesses 3 --dist loadfile --no-loadscope-reorder  # on two cores: they mostly wait
	$(BIN)/pytest -m 'engine and not long'  # one at a time: real engines want the cores

check: install  ## what needs no engine: format, lint, types, layers
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports

campaigns: install  ## every seed of the long campaigns in full, an hour and more
	$(BIN)/autotune fetch demo
	$(BIN)/pytest -m 'campaign or long' --all-seeds -rP

browser:  ## Chromium, in which a test opens the evidence page; without it that test is skipped
	command -v chromium || test "$$(id -u)" = 0 || { echo "put chromium on PATH, or run this as root on Debian" >&2; exit 1; }
	command -v chromium || { apt-get update && apt-get install --yes --no-install-recommends chromium; }

wheel: install
	$(BIN)/python -m build

format: install
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

install: $(BIN)/.development

$(BIN)/.runtime: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

$(BIN)/.development: $(BIN)/.runtime
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group dev
	touch $@
