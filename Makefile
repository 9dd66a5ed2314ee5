# The one door. Every target makes its own virtual environment; python3, pip and make are all it needs.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
# One more than there are cores: some tests wait.
PARALLEL := -n $(shell $(PYTHON) -c 'import os; print((os.cpu_count() or 1) + 1)') --dist worksteal
# Each of them on one thread: what BLAS wins by more, the others lose.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check

# The tests that run a second time with the kernels as plain Python, so that these count in the coverage.
PLAIN  := tests/kernels/test_dense.py tests/kernels/test_plain.py tests/engine tests/theory --ignore=tests/engine/test_family_check.py --ignore=tests/engine/test_guardrails.py -k "not differences and not sizes and not random and not agrees and not hold and not far_away and not many_decide"

.DEFAULT_GOAL := help
.PHONY: help demo serve-demo test test-fast test-oldest test-integrations coverage lint bench images docs wheel clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1	\2/'

demo: $(VENV)/core.stamp  ## find the best advert for every metric, live in the terminal
	@$(BIN)/mobai demo

serve-demo: $(VENV)/service.stamp  ## the same, live in a browser
	@$(BIN)/mobai demo --serve

test: $(VENV)/test.stamp $(VENV)/system.stamp  ## run every test and doctest, on all cores
	@$(BIN)/mobai warm
	$(PYTEST) $(PARALLEL)

test-fast: $(VENV)/test.stamp  ## run the tests that take no time, for the working loop
	@$(BIN)/mobai warm
	$(PYTEST) $(PARALLEL) -m "not slow" tests

test-oldest: $(VENV)-oldest/test.stamp $(VENV)/system.stamp  ## run every test with the oldest libraries allowed
	@$(VENV)-oldest/bin/mobai warm
	OMP_NUM_THREADS=1 $(VENV)-oldest/bin/python -m pytest $(PARALLEL) --ignore=tests/docs --ignore=tests/test_examples.py --ignore=tests/integrations --ignore=src/mobai/integrations

test-integrations: $(VENV)/test.stamp $(VENV)/tools.stamp  ## run promptfoo, lm-eval, DeepEval and hyperfine, and read what they write
	MOBAI_TOOLS=$(abspath $(VENV))/tools $(PYTEST) tests/tools

coverage: $(VENV)/test.stamp $(VENV)/system.stamp  ## run every test, kernels as plain Python, too, and print the coverage
	@$(BIN)/mobai warm  # under coverage compiling takes several times as long
	NUMBA_DISABLE_JIT=1 $(PYTEST) $(PLAIN) --cov --cov-report=
	$(PYTEST) $(PARALLEL) --cov --cov-append --cov-report=term

lint: $(VENV)/lint.stamp  ## style, strict types, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/bench.stamp  ## measure speed against named peers, side by side
	$(BIN)/python -m benchmarks

images: $(VENV)/test.stamp $(VENV)/system.stamp  ## take pictures of every page into docs/images
	PYTHONPATH=. $(BIN)/python docs/screenshots.py

docs: $(VENV)/docs.stamp  ## build the documentation into docs/_build/html
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

wheel: $(VENV)/test.stamp  ## build a wheel, install it into an empty environment, and try it
	$(BIN)/python -m hatchling build -t wheel -d dist
	rm -rf $(VENV)-wheel && $(PYTHON) -m venv $(VENV)-wheel
	$(VENV)-wheel/bin/python -m pip install --quiet --disable-pip-version-check "$$(ls dist/mobai-*.whl | tail -n 1)[service]"
	cd dist && ../$(VENV)-wheel/bin/mobai demo

clean:  ## remove the environment and everything built
	rm -rf $(VENV) $(VENV)-oldest $(VENV)-wheel docs/_build dist .coverage .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/core.stamp: pyproject.toml | $(BIN)/python
	$(PIP) --editable .
	@touch $@

$(VENV)-oldest/test.stamp: pyproject.toml tools/oldest.py
	$(PYTHON) -m venv $(VENV)-oldest
	$(PYTHON) tools/oldest.py > $(VENV)-oldest/requirements.txt
	$(VENV)-oldest/bin/python -m pip install --quiet --disable-pip-version-check -c $(VENV)-oldest/requirements.txt --editable '.[test-core]'
	@touch $@

$(VENV)/%.stamp: pyproject.toml | $(BIN)/python
	$(PIP) --editable '.[$*]'
	@touch $@

# Programs that tests use and PyPI does not have.
$(VENV)/system.stamp: tests/system-packages | $(BIN)/python
	@tests/system-packages
	@touch $@

# Tools whose results are read, each in an environment of its own: two gigabytes.
$(VENV)/tools.stamp: tests/tools/install
	tests/tools/install $(VENV)/tools
	@touch $@

# mypy reads the tests, so linting needs their libraries too.
$(VENV)/lint.stamp: $(VENV)/test.stamp
