# What people, README and CI call. `make demo` and `make test` need nothing but Python >= 3.11 and a package index.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
DEMO ?=

.PHONY: demo test check campaigns wheel format install

demo: install  ## a real engine tuned end to end on this machine, minutes
	$(BIN)/autotune fetch demo
	$(BIN)/autotune study demo $(DEMO)

test: check  ## everything CI runs
	$(BIN)/autotune fetch demo
	$(BIN)/pytest

check: install  ## what needs no engine: format, lint, types, layers
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports

campaigns: install  ## all seeds of the long campaigns, an hour
	$(BIN)/autotune fetch demo
	$(BIN)/pytest -m campaign --all-seeds

wheel: install
	$(BIN)/python -m build

format: install
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

install: $(BIN)/installed

$(BIN)/installed: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --editable . --group dev
	touch $@
