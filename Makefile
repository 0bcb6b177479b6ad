# Commands for people who build Salon. Each target makes .venv on first use and installs only what it needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip install -qq --no-compile --disable-pip-version-check --constraint constraints.txt
UV := $(BIN)/uv pip install -q --python $(BIN)/python --constraint constraints.txt
# Packages come uncompiled (that saves a minute); what is used is compiled once, whatever the machine's habit is.
unexport PYTHONDONTWRITEBYTECODE
export OMP_NUM_THREADS ?= 1
export HF_HUB_OFFLINE ?= 1
JOBS ?= $(shell env -u OMP_NUM_THREADS nproc 2>/dev/null || echo 1)

.PHONY: help demo test check lint bench prove docs serve clean
help: ## what there is to make
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 10

$(VENV)/bin/python:
	@$(PYTHON) -m venv $(VENV)

# uv takes seconds where pip takes minutes. pip brings torch, since it alone knows of builds that the machine was given,
# and all the rest where uv reaches no index, as with one that is named in pip's settings.
$(VENV)/.demo: EXTRAS := demo
$(VENV)/.dev: EXTRAS := dev
$(VENV)/.dev: HOLDS := $(VENV)/.demo
$(VENV)/.bench: EXTRAS := dev,bench
$(VENV)/.bench: HOLDS := $(VENV)/.dev $(VENV)/.demo
$(VENV)/.demo $(VENV)/.dev $(VENV)/.bench: pyproject.toml constraints.txt | $(VENV)/bin/python
	@echo "installing into $(VENV): salon[$(EXTRAS)]"
	@$(PIP) uv torch
	@$(UV) --editable '.[$(EXTRAS)]' || $(PIP) --editable '.[$(EXTRAS)]'
	@touch $@ $(HOLDS)

demo: $(VENV)/.demo ## posters drawn, judged, checked, fused, learned from and ranked on a board; leaves pages in demo/
	@tools/system-packages libegl1 libgl1
	@$(BIN)/salon demo

test: $(VENV)/.dev ## every test and check, as CI runs them
	@tools/system-packages chromium-headless-shell libegl1 libgl1 tesseract-ocr
	@$(MAKE) --no-print-directory lint
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder

check: $(VENV)/.dev ## the fast lane for everyday work: lint, and the test files that take a few seconds
	@$(MAKE) --no-print-directory lint
	$(BIN)/python -m pytest -q -n $(JOBS) --dist loadfile --fast

lint: $(VENV)/.dev ## style, types and the order of the packages
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --num-workers $(JOBS)
	$(BIN)/lint-imports

bench: $(VENV)/.bench ## speed beside peers, one JSON line each; writes docs/evidence/benchmarks.md; ONLY=name for one
	@$(BIN)/python -m benchmarks $(ONLY)

prove: $(VENV)/.dev ## the long evidence: size, power, fits; writes the tables the docs quote; ONLY=name for one
	@$(BIN)/python -m prove $(ONLY)

docs: $(VENV)/.dev ## write the generated pages of docs/reference
	$(BIN)/python -m tools.reference

serve: demo ## open the demo's studio at http://127.0.0.1:8000; its link is printed
	$(BIN)/salon serve demo/studio

clean: ## remove .venv, caches and the demo
	rm -rf $(VENV) demo .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
