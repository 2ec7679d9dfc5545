# Every target sets up what it needs in .venv; Python >= 3.11 and make are enough to start.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
LOWEST := .venv-lowest
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
RUN := $(VENV)/.stamp-run
TEST := $(VENV)/.stamp-test
BENCH := $(VENV)/.stamp-bench
DOCS := $(VENV)/.stamp-docs
DEV := $(VENV)/.stamp-dev
WORKERS ?= logical
ARGS ?=
SECONDS ?= 600
NAME ?=

.DEFAULT_GOAL := help
.NOTPARALLEL:
# Tests start dozens of processes, and each would compile the package anew.
unexport PYTHONDONTWRITEBYTECODE
.PHONY: help demo test test-lowest fuzz lint format types layers check docs dev hooks bench clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(RUN) ## the whole job on generated card payments; ARGS="--rows 50000" for fewer
	@$(BIN)/gramian demo $(ARGS)

test: $(TEST) ## run the tests and the examples in docstrings; ARGS="-k merge" narrows
	$(BIN)/python -m pytest -n $(WORKERS) --maxprocesses 8 --dist worksteal $(ARGS)

test-lowest: ## the same with the oldest versions that are allowed (constraints-lowest.txt), in .venv-lowest
	$(PYTHON) -m venv $(LOWEST)
	$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints-lowest.txt -e ".[test]"
	$(LOWEST)/bin/python -m pytest -n $(WORKERS) --maxprocesses 8 --dist worksteal $(ARGS)

fuzz: $(TEST) ## harmed inputs in child processes for half of SECONDS=600, then new examples for the property tests
	$(BIN)/python -m tests.fuzz --seconds $$(( $(SECONDS) / 2 ))
	@end=$$(( $$(date +%s) + $(SECONDS) / 2 )); round=0; \
	while [ $$(date +%s) -lt $$end ]; do \
		round=$$(( round + 1 )); echo "round $$round, $$(( end - $$(date +%s) )) s left"; \
		GRAMIAN_HYPOTHESIS=fuzz timeout --foreground $$(( end - $$(date +%s) )) \
			$(BIN)/python -m pytest -n $(WORKERS) --maxprocesses 8 -x -q -m hypothesis tests $(ARGS); \
		code=$$?; [ $$code -eq 0 ] || [ $$code -eq 124 ] || exit $$code; \
	done

lint: $(TEST) ## check style and formatting with ruff
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(TEST) ## rewrite files the way lint wants them
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: $(TEST) ## check types with mypy
	$(BIN)/python -m mypy

layers: $(TEST) ## check that a layer imports only from the layers below it
	$(BIN)/lint-imports

check: test lint types layers ## everything a change must pass

docs: $(DOCS) ## build the site into build/site; ARGS="-D plot_gallery=0" leaves the examples out
	$(BIN)/python -m pytest -q -n 0 tests/test_notebook.py
	$(BIN)/python -m sphinx -W --keep-going -q -b html $(ARGS) docs build/site
	@echo "open build/site/index.html"

dev: $(DEV) ## set up .venv with everything: tests, lint, types, benchmarks

hooks: $(DEV) ## run lint, types and layers before every commit
	$(BIN)/pre-commit install

bench: $(BENCH) ## measure against peers: make bench NAME=moments ARGS="--only a,d"
	$(BIN)/python -m benchmarks $(NAME) $(ARGS)

clean: ## remove .venv and every cache
	rm -rf $(VENV) $(LOWEST) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache .benchmarks
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Gramian needs Python 3.11 or newer: make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)

# A larger install contains the smaller ones, so its stamp stands for theirs too.
$(RUN): pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) -e ".[report]"
	@touch $@

$(TEST): pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) -e ".[test,lint]"
	@touch $(RUN) $@

$(BENCH): pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) -e ".[bench]"
	@touch $(RUN) $@

$(DOCS): pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) -e ".[docs]"
	@touch $(RUN) $@

$(DEV): pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) -e ".[dev]"
	@touch $(RUN) $(TEST) $(BENCH) $(DOCS) $@
