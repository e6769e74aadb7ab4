# Every task needs only python3 (3.11 or newer), pip and make; each does its own set-up.
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/installed

.PHONY: help install install-providers up test check mutate format lock bench clean

help: ## Show these tasks
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 20

install: $(INSTALLED) ## Install everything into .venv, at the locked versions

$(INSTALLED): pyproject.toml requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; say make PYTHON=python3.12")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --require-hashes --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

install-providers: $(INSTALLED) ## Install the clients of providers of bars too, for their tests
	$(BIN)/python -m pip install --quiet --require-hashes --requirement providers.lock

up: $(INSTALLED) ## Seal the sample night, make a first key, and serve on port 8000
	@$(BIN)/screener up

test: $(INSTALLED) ## Lint, type-check and run all tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy examples
	$(BIN)/lint-imports --no-logo
	$(BIN)/pytest -n auto

check: test ## The same as test

mutate: $(INSTALLED) ## Change the code of limits and credentials; a test must notice each change
	$(BIN)/python -m tests.mutate

format: $(INSTALLED) ## Format the code and mend what ruff can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

lock: ## Write both locks anew from pyproject.toml (needs uv)
	uv pip compile pyproject.toml --group dev --extra dask --extra fast --extra postgresql --universal \
		--python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links \
		--no-annotate --custom-compile-command "make lock" --output-file requirements.lock
	uv pip compile pyproject.toml --extra yfinance --extra ccxt --constraint requirements.lock \
		--universal --python-version 3.11 --generate-hashes --no-emit-index-url \
		--no-emit-find-links --no-annotate --custom-compile-command "make lock" \
		--output-file providers.lock

clean: ## Remove what the tasks made, but no data
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
