# Needs python3 (3.11 or later, with venv), make and git; everything else goes into .venv on the first run.
#
#   make demo    remember and find, on a store of its own
#   make test    lint, types, dead code, architecture and every test; STRICT=1 turns each skip into a failure

PYTHON ?= python3
VENV = .venv
BIN = $(VENV)/bin
READY = $(VENV)/.ready
STRICT =
DATA =
OUT = bench-quality.json

.PHONY: help demo test soak setup lint format pin bench-writes bench-indexing bench-search bench-embedding bench-agents bench-quality bench-belief bench-tools clean

help:
	@echo "make demo              see it work"
	@echo "make test [STRICT=1]   every check and test; STRICT=1 fails on skips"
	@echo "make soak              the fault suites at full size"
	@echo "make setup             only prepare $(VENV)"
	@echo "make lint              ruff, mypy, vulture"
	@echo "make format            rewrite the source in the house style"
	@echo "make bench-writes | bench-indexing | bench-search | bench-embedding | bench-agents | bench-quality DATA=folder [OUT=file.json]"
	@echo "make bench-tools DATA=folder [OUT=file.json]"
	@echo "make bench-abstention DATA=folder [OUT=file.json]"
	@echo "make bench-belief [OUT=file.json]"
	@echo "make pin               choose versions anew for requirements/*.txt"
	@echo "make clean             remove $(VENV), caches and builds"

demo: $(READY)
	@$(BIN)/recollect demo

# Quick suites first, so that most mistakes show within a minute.
test: $(READY)
	@started=$$(date +%s); \
	export RECOLLECT_STRICT=$(STRICT); \
	set -e; \
	echo "== lint, types, dead code"; \
	$(BIN)/ruff check .; \
	$(BIN)/mypy; \
	$(BIN)/vulture; \
	echo "== architecture"; \
	$(BIN)/python -m pytest tests/test_architecture.py; \
	echo "== quick tests"; \
	$(BIN)/python -m pytest -m "not slow" --ignore=tests/test_architecture.py; \
	echo "== slow tests"; \
	$(BIN)/python -m pytest -m slow || [ $$? -eq 5 ]; \
	echo "make test: every check and suite passed in $$(( $$(date +%s) - started )) s"

# The full size, which tests/faults/__init__.py says: an hour and a half on two free cores.
soak: $(READY)
	RECOLLECT_FAULTS=full $(BIN)/python -m pytest -s tests/test_faults_*.py tests/test_store_model.py \
	  tests/test_past.py

setup: $(READY)

# Runs once, and again when the requirements or the package's own description change.
$(READY): requirements/dev.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "recollect needs Python 3.11 or later, and $(PYTHON) is older or missing." >&2; \
	  echo "Name another one: make PYTHON=python3.12 ..." >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv --clear $(VENV) || { \
	  echo "$(PYTHON) cannot make a virtual environment; on Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }
	@echo "Preparing $(VENV) ..."
	@$(BIN)/python -m pip install -q --disable-pip-version-check --require-hashes -r requirements/dev.txt
	@$(BIN)/python -m pip install -q --disable-pip-version-check --no-build-isolation --no-deps -e .
	@$(BIN)/python -m compileall -q src/recollect
	@touch $(READY)

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/vulture

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

PIN = build/pin
COMPILE = $(CURDIR)/$(PIN)/bin/pip-compile -q --upgrade --generate-hashes --strip-extras --no-annotate --no-header \
  --no-emit-index-url --no-emit-trusted-host --no-emit-find-links --no-emit-options

pin:
	@test -x $(PIN)/bin/pip-compile || { $(PYTHON) -m venv $(PIN) && $(PIN)/bin/python -m pip install -q pip-tools; }
	cd requirements && $(COMPILE) -o run.txt run.in && $(COMPILE) -o dev.txt dev.in

bench-writes: $(READY)
	$(BIN)/python bench/writes.py

bench-indexing: $(READY)
	$(BIN)/python bench/indexing.py

bench-embedding: $(READY)
	$(BIN)/python bench/embedding.py

bench-search: $(READY)
	$(BIN)/python bench/search.py

bench-agents: $(READY)
	$(BIN)/python bench/agents.py

bench-quality: $(READY)
	@test -n "$(DATA)" || { echo "Say where the questions are: make bench-quality DATA=folder [OUT=file.json]" >&2; exit 2; }
	$(BIN)/python bench/quality.py --data "$(DATA)" --out "$(OUT)"

bench-belief: $(READY)
	$(BIN)/python bench/belief.py --out "$(if $(filter-out file,$(origin OUT)),$(OUT),bench-belief.json)"

bench-tools: $(READY)
	@test -n "$(DATA)" || { echo "Say where the tools are: make bench-tools DATA=folder [OUT=file.json]" >&2; exit 2; }
	$(BIN)/python bench/tools.py --data "$(DATA)" --out "$(if $(filter-out file,$(origin OUT)),$(OUT),bench-tools.json)"

bench-abstention: $(READY)
	@test -n "$(DATA)" || { echo "Say where the questions are: make bench-abstention DATA=folder [OUT=file.json]" >&2; exit 2; }
	$(BIN)/python bench/abstention.py --data "$(DATA)" --out "$(if $(filter-out file,$(origin OUT)),$(OUT),bench-abstention.json)"

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests bench -name __pycache__ -type d -prune -exec rm -rf {} +
