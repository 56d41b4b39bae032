# `make run` serves perdure, `make test` checks everything; each sets up what it needs in .venv, and a second run does nothing twice.

PORT ?= 3001
WORKERS ?= 2
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
INSTALL := $(PIP) install --require-hashes --requirement

.PHONY: help run test check lint lock wheel clean

help:
	@echo "make run     serve perdure on port $(PORT)"
	@echo "make test    every check and every test"
	@echo "make check   formatting, lint, types, import contracts, house limits: the quick part of make test"
	@echo "make wheel   build the wheel into dist/"
	@echo "make lock    renew the lock files; make lock ARGS=--upgrade takes newer releases"
	@echo "make clean   remove .venv, dist and caches (never a vault)"

run: $(VENV)/.runtime
	@exec $(BIN)/perdure serve --port $(PORT)

test: lint
	@$(BIN)/python -m pytest --numprocesses $(WORKERS) --dist worksteal

check: lint
	@$(BIN)/python -m pytest --quiet tests/shape

lint: $(VENV)/.dev
	@$(BIN)/ruff format --quiet --check . || { echo "run: $(BIN)/ruff format ." >&2; exit 1; }
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy --no-error-summary
	@$(BIN)/lint-imports --no-logo > $(VENV)/.contracts || { cat $(VENV)/.contracts >&2; exit 1; }

wheel: $(VENV)/.runtime
	@$(PIP) wheel --no-deps --no-build-isolation --wheel-dir dist .
	@ls dist/*.whl

lock:
	@set -e; folder=$$(mktemp -d); trap 'rm -rf "$$folder"' EXIT; \
	python3 -m venv "$$folder"; "$$folder/bin/pip" --quiet --disable-pip-version-check install uv; \
	compile="$$folder/bin/uv pip compile pyproject.toml --quiet --universal --python-version 3.11 --generate-hashes \
		--no-emit-index-url --custom-compile-command"; \
	$$compile "make lock" --group build --output-file requirements.lock $(ARGS); \
	$$compile "make lock" --group dev --constraint requirements.lock --output-file requirements-dev.lock $(ARGS)

clean:
	@rm -rf $(VENV) dist build .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis

$(VENV)/.python:
	@for python in $(PYTHON) python3 python3.13 python3.12 python3.11; do \
		if $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then found=$$python; break; fi; \
	done; \
	if [ -z "$$found" ]; then \
		echo "perdure needs Python 3.11 or newer, and none was found; install it, or name it: make run PYTHON=/path/to/python3" >&2; \
		exit 1; \
	fi; \
	if ! $$found -c 'import ensurepip, venv' 2>/dev/null; then \
		echo "this Python cannot make virtual environments; on Debian and Ubuntu: apt-get install python3-venv" >&2; \
		exit 1; \
	fi; \
	echo "Setting up $(VENV) (the first run takes a minute)"; \
	$$found -m venv $(VENV)
	@$(PIP) install --upgrade "pip>=25"
	@touch $@

$(VENV)/.runtime: requirements.lock pyproject.toml | $(VENV)/.python
	@$(INSTALL) requirements.lock
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.dev: requirements-dev.lock $(VENV)/.runtime
	@$(INSTALL) requirements-dev.lock
	@touch $@
