# make setup   an environment in .venv with all that the other targets need; again: nothing to do
# make demo    the story of this project on a small machine, from a preset to figures
# make test    every check
# make clean   remove what these made
#
# All paths are relative, so that the checkout may lie in a folder with spaces in its name.

.PHONY: help setup demo test clean
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules

# Another Python: make setup PYTHON=/path/to/python3.12
export PYTHON ?=
ENV := .venv/bin/python

help:
	@sed -n 's/^# \(make .*\)/\1/p' Makefile

setup: .venv/.ready

demo: .venv/.ready
	@$(ENV) scripts/demo.py

test: .venv/.ready
	$(ENV) -m ruff check .
	$(ENV) -m ruff format --check .
	$(ENV) -m mypy
	$(ENV) -m sphinx -q -W --keep-going -b html docs .venv/docs
	$(ENV) -m pytest -n 2
	$(ENV) scripts/check_baselines.py

clean:
	rm -rf .venv build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/.ready: pyproject.toml
	@fail() { echo "error: $$1" >&2; exit 2; }; \
	missing=; \
	for tool in g++ make perl; do command -v $$tool >/dev/null || missing="$$missing $$tool"; done; \
	[ -z "$$missing" ] || \
	  fail "not installed:$$missing; on Debian or Ubuntu: apt install$$missing"; \
	if [ -n "$$PYTHON" ]; then set -- "$$PYTHON"; \
	else set -- python3 python3.14 python3.13 python3.12 python3.11; fi; \
	found=; \
	for python in "$$@"; do \
	  if "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	    found=$$python; break; \
	  fi; \
	done; \
	[ -n "$$found" ] || \
	  fail "Python 3.11 or newer is not among: $$*; install it, or name it: make setup PYTHON=..."; \
	"$$found" -c 'import ensurepip, venv' 2>/dev/null || \
	  fail "$$found has no module venv; on Debian or Ubuntu: apt install python3-venv"; \
	if ! $(ENV) -m pip --version >/dev/null 2>&1; then \
	  echo "setup: making .venv with $$("$$found" --version)"; \
	  "$$found" -m venv --clear .venv || exit 2; \
	fi
	@echo "setup: installing pezo-hw and its tools into .venv (about 1.3 GB; minutes on a slow line)"
	@$(ENV) -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@$(ENV) -m pezo_hw.tools
	@touch $@
	@echo "setup: done"
