# `make app` and `make test` set everything up by themselves; the rest are their parts.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# faiss-gpu and its CUDA libraries only where an NVIDIA GPU is
REQUIREMENTS ?= $(if $(shell command -v nvidia-smi),requirements.txt,requirements-cpu.txt)
PORT ?= 8501
# Python compiles what it imports; all of it would take longer than the downloads.
INSTALL := -m pip install --quiet --disable-pip-version-check --no-compile
export OMP_WAIT_POLICY := PASSIVE
export HF_HUB_DISABLE_TELEMETRY := 1

APP_STAMP := $(VENV)/.app-installed
TEST_STAMP := $(VENV)/.test-installed

.PHONY: app test lint type docs unit browser wheel wheel-environment smoke attack bench clean help

help: ## list the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/'

$(APP_STAMP): $(REQUIREMENTS) pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(v < (3, 11) and f"entail needs Python 3.11 or newer, $(PYTHON) is {v[0]}.{v[1]}; say make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python $(INSTALL) -r $(REQUIREMENTS)
	$(BIN)/python $(INSTALL) --no-deps -e .
	touch $@

$(TEST_STAMP): $(APP_STAMP) tests/requirements.txt
	$(BIN)/python $(INSTALL) -r $(REQUIREMENTS) -r tests/requirements.txt
	sh scripts/install_chromium.sh
	touch $@

app: $(APP_STAMP) ## start the app on http://localhost:8501
	$(BIN)/entail app --port $(PORT)

test: ## every check; two at once that need one core each
	$(MAKE) -j 2 $(TEST_STAMP) wheel-environment
	$(MAKE) lint
	$(MAKE) -j 2 type docs smoke
	$(MAKE) unit
	$(MAKE) browser

lint: $(TEST_STAMP) ## style, docstrings
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

type: $(TEST_STAMP) ## mypy, strict
	$(BIN)/mypy

docs: $(TEST_STAMP) ## build the pages of docs/ with the reference into build/site; a warning stops it
	PATH=$(BIN):$$PATH mkdocs build --quiet

# As many tests at once as there are cores, at most four: each takes a gigabyte.
unit browser: export OMP_NUM_THREADS := 1
unit: $(TEST_STAMP) ## all tests but the browser's and the long attack
	$(BIN)/python -m pytest -m "not browser and not attack" -n logical --maxprocesses 4 --dist worksteal

browser: $(TEST_STAMP) ## the newcomer's story in a real Chromium
	$(BIN)/python -m pytest -m browser tests/browser -n logical --maxprocesses 4 --dist loadfile

wheel: wheel-environment ## build the wheel, install it in an empty environment, try it there in a browser
	$(MAKE) smoke

wheel-environment:
	rm -rf build/wheel $(VENV)-wheel
	$(PYTHON) -m venv $(VENV)-wheel
	$(VENV)-wheel/bin/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir build/wheel .
	sed "s/\[.*\]//" requirements-cpu.txt > build/wheel/constraints.txt
	$(VENV)-wheel/bin/python $(INSTALL) -c build/wheel/constraints.txt build/wheel/entail-*.whl

smoke: $(TEST_STAMP)
	$(BIN)/python scripts/smoke_wheel.py $(VENV)-wheel/bin/python

attack: $(TEST_STAMP) ## the standing attack in full
	ENTAIL_ATTACK=$${ENTAIL_ATTACK:-1} $(BIN)/python -m pytest tests/attack

bench: $(TEST_STAMP) ## measure speed, write docs/results/
	$(BIN)/python scripts/bench_index.py --sizes 10000 100000
	$(BIN)/python scripts/bench_app.py
	for name in index_scale app; do $(BIN)/python scripts/lab report $$name; done

clean: ## remove the environment and caches
	rm -rf $(VENV) $(VENV)-wheel build .pytest_cache .mypy_cache .ruff_cache .hypothesis
