# Every task needs only python3 (3.11 or newer), pip and make; each does its own set-up.
.DEFAULT_GOAL := help

# The Python of the venv that is there, or python3. Another version gets a venv of its own.
PYTHON ?= $(firstword $(wildcard .venv/bin/python) python3)
WANTED := $(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])')
THERE := $(shell sed -n 's/^version = \([0-9]*\.[0-9]*\).*/\1/p' .venv/pyvenv.cfg 2>/dev/null)
VENV := .venv$(if $(filter-out $(WANTED),$(THERE)),-$(WANTED))
BIN := $(VENV)/bin

# Each is a stamp: what its lock names is installed.
RUN := $(VENV)/run.installed
DEV := $(VENV)/dev.installed
PROVIDERS := $(VENV)/providers.installed

# By uv, which takes a fraction of the time, or by pip where uv cannot be had or cannot go on.
INSTALL = if ! { test -x $(BIN)/uv && $(BIN)/uv pip install --python $(BIN)/python --quiet $(1); }; \
	then $(BIN)/python -m pip install --quiet $(1); fi
LOCKED := --require-hashes --requirement

# A module is compiled once, when it is used first, and not at every start of a command. Tests start
# many: for them everything is compiled at once, so that they are fast where nothing may be kept.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help install install-providers up release test lint unit test-engines test-short coverage fuzz faults topology soak audit mutate pictures format lock clean

help: ## Show these tasks
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 20

# The detector is compiled while packages are installed, by those that it needs, which come first.
$(RUN): pyproject.toml locks/installer.lock locks/build.lock locks/run.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; say make PYTHON=python3.12")'
	@echo "Installing into $(VENV) ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --only-binary :all: $(LOCKED) locks/installer.lock || \
		echo "uv cannot be had here; pip does without."
	@awk '/^[a-z]/ { wanted = /^(llvmlite|numba|numpy)==/ } wanted' locks/run.lock > $(VENV)/detector.lock
	@$(call INSTALL,$(LOCKED) $(VENV)/detector.lock)
	@$(BIN)/python -m screener.nightly.detector >/dev/null 2>&1 & compiling=$$!; \
		{ $(call INSTALL,$(LOCKED) locks/build.lock --requirement locks/run.lock); } && \
		{ $(call INSTALL,--no-deps --no-build-isolation --editable .); } && \
		{ wait $$compiling || echo "The first night will compile the detector."; }
	@touch $@

$(DEV): $(RUN) locks/dev.lock
	@echo "Installing what the tests need ..."
	@$(call INSTALL,$(LOCKED) locks/dev.lock)
	@$(BIN)/python -m compileall -qq -j 0 -x '/tests?/' $(VENV)/lib || true
	@touch $@

$(PROVIDERS): $(RUN) locks/providers.lock
	@echo "Installing the clients of providers ..."
	@$(call INSTALL,$(LOCKED) locks/providers.lock)
	@touch $@

install: $(DEV) ## Install everything into .venv, at the locked versions

install-providers: $(PROVIDERS) ## Install the clients of providers of bars, yfinance and ccxt

# By the environment, in which make puts what it was given: a path may have any character.
up: $(RUN) ## Serve on port 8000, with patterns of BARS=PATH (and EXCHANGE=MIC, CURRENCY=CODE, ADJUSTMENT=KIND, REFERENCE=TABLE, SESSION=DAY) or of the sample
	@$(BIN)/screener up $(if $(BARS),--bars "$$BARS") $(if $(REFERENCE),--reference "$$REFERENCE") $(if $(SESSION),--session "$$SESSION") \
		$(if $(EXCHANGE),--exchange "$$EXCHANGE") $(if $(CURRENCY),--currency "$$CURRENCY") \
		$(if $(ADJUSTMENT),--adjustment "$$ADJUSTMENT")

# What is installed on a server; the names of skipped rules have their reasons in pyproject.toml.
PACKAGES = mcp_server oauth rest_facade screener store
BANDIT = $(BIN)/bandit --quiet --recursive --configfile pyproject.toml $(PACKAGES)
PARALLEL = -n auto --dist worksteal
PYTEST = $(BIN)/pytest $(PARALLEL)

test: $(DEV) ## Lint, type-check and run the tests, side by side
	@echo "Lint, types and tests run side by side: about 5 minutes on two cores. Tests of"
	@echo "processes, databases, browsers and clients are run by make test-engines, in about 8."
	@$(MAKE) --no-print-directory --jobs=2 lint unit

lint: $(DEV) ## Lint, type-check, hold the import rule and look for secrets
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-logo
	$(BIN)/mypy
	$(BIN)/mypy examples
	$(BANDIT)
	$(BIN)/python -m tests.audit secrets

# Nice, so that a fault of types is told at once where no cache of mypy is there.
unit: $(DEV) ## Run the tests that need no other program
	nice $(PYTEST) -m "not engine and not process"

test-engines: $(DEV) ## Run the tests of processes, and those that need PostgreSQL, Chromium or the clients of others; root installs the first two by apt
	@.ci/engines
	$(PYTEST) -m "engine or process" -rs

test-short: $(DEV) ## Run the tests of the store, the tools and the nightly alone; for another PYTHON
	$(BIN)/python --version
	$(PYTEST) -m "not engine and not process" tests/store tests/mcp_server tests/screener/nightly

coverage: $(DEV) ## The share of lines and branches that the tests run, processes included, in all and by package
	rm -f .coverage .coverage.*
	-$(BIN)/coverage run -m pytest $(PARALLEL) -m "not engine and not process"
	-$(BIN)/coverage run -m pytest $(PARALLEL) -m "engine or process"
	$(BIN)/coverage combine --quiet
	@for package in $(PACKAGES); do printf "%-12s" $$package; \
		$(BIN)/coverage report --precision=2 --include="$$package/*" | tail -1; done
	@$(BIN)/coverage report --precision=2 | tail -1

faults: $(DEV) ## Kill, fill, damage, lock and crowd a service, and print what was lost; ONLY=NAME makes one fault
	$(BIN)/python -m tests.qa.drills faults $(if $(ONLY),--only $(ONLY))

topology: $(DEV) ## Three servers behind a balancer, with all they share: each part is killed once, for MINUTES=5
	$(BIN)/python -m tests.qa.drills topology --minutes $(or $(MINUTES),5)

soak: $(DEV) ## Serve under 70 % of the capacity for MINUTES=30, with a night switch every minute
	$(BIN)/python -m tests.qa.drills soak --minutes $(or $(MINUTES),30)

audit: $(DEV) ## Look for known faults of dependencies, dangerous code and secrets
	$(BANDIT)
	$(BIN)/python -m tests.audit secrets
	$(BIN)/python -m tests.audit dependencies

fuzz: $(DEV) ## Try hostile requests and files for MINUTES=5; AGAIN=FILE tries a kept one again
	$(BIN)/python -m tests.qa.fuzz --minutes $(or $(MINUTES),5) $(if $(AGAIN),--again $(AGAIN))

mutate: $(DEV) ## Change the code of limits and credentials; a test must notice each change
	$(BIN)/python -m tests.mutate

pictures: $(DEV) ## Draw the pictures of the documentation anew, from the sample night
	$(BIN)/python -m tests.screener.web.pictures --write

release: $(DEV) ## Write wheel, sdist, bills of materials, notes and digests into dist/; DRAFT=1 takes unreleased notes
	$(BIN)/python -m release $(if $(DRAFT),--draft)

format: $(DEV) ## Format the code and mend what ruff can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

LOCK = $(BIN)/uv pip compile --quiet $(UPGRADE) --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-emit-find-links --no-annotate --custom-compile-command "make lock"
OURS = pyproject.toml --constraint locks/dev.lock
SERVED = --extra fast --extra objects --extra postgresql --extra redis

lock: $(RUN) ## Write every lock anew from pyproject.toml; UPGRADE=--upgrade takes newer versions
	$(LOCK) pyproject.toml --group dev --extra dask --extra excel --extra nightly $(SERVED) -o locks/dev.lock
	$(LOCK) $(OURS) --extra excel --extra nightly $(SERVED) -o locks/run.lock
	$(LOCK) $(OURS) $(SERVED) -o locks/serve.lock
	$(LOCK) $(OURS) --extra nightly --extra yfinance --extra ccxt -o locks/providers.lock
	$(LOCK) --constraint locks/dev.lock --group build -o locks/build.lock
	for group in installer hosts node deploy hosts-sdk1; do \
		$(LOCK) --group $$group -o locks/$$group.lock || exit; done
	$(BIN)/python -m tests.node

clean: ## Remove what the tasks made, but no data
	rm -rf .venv .venv-* .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache mutants fuzz-found dist benchmarks/tokens/node_modules
