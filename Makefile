# What a newcomer runs: `make measure`, `make test`. They set themselves up in .venv and need python3 with venv, g++ and make.
# A contributor runs the rest: `make help`. ARGS is handed on: make measure ARGS='--quick --device host'.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
BUILD := build/dev
CLANG_FORMAT := $(BIN)/clang-format
# Python keeps what it compiled, whatever the caller says: tests start hundreds of interpreters.
unexport PYTHONDONTWRITEBYTECODE
# A change to one of the first compiles what it concerns; a change to the second installs anew. Python is used in place.
NATIVE := $(shell find include native scripts/make_descriptions.py scripts/make_page_script.py src/isthmus/_native.pyi -type f)
INSTALL := CMakeLists.txt pyproject.toml $(shell find native -name CMakeLists.txt)
# Each process collects all tests: a few of them begin sooner in one.
WORKERS := $(if $(findstring -k,$(ARGS)),,-n auto --dist worksteal)
PROCESSOR := $(shell uname -m)
CPP = git ls-files '*.c' '*.cpp' '*.hpp' '*.h' '*.cl' '*.cu'

# The installation knows each module by its file: where one is gone, it is made anew (which compiles nothing).
ifneq ($(shell [ ! -f $(VENV)/modules.txt ] || xargs ls <$(VENV)/modules.txt >/dev/null 2>&1 || echo gone),)
$(shell rm -f $(VENV)/editable.stamp)
endif

.PHONY: help measure test test-all lint format debug bench docs wheel program clean
help:  ## This list.
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 12

measure: $(VENV)/cpu.stamp $(VENV)/native.stamp  ## Measure this machine.
	@$(BIN)/isthmus measure $(ARGS)

test: $(VENV)/cpu,test.stamp $(VENV)/native.stamp  ## The tests that cover every command, backend and experiment.
	@$(BIN)/python -m pytest -q $(WORKERS) -m 'not thorough' $(ARGS)

test-all: $(VENV)/cpu,test.stamp $(VENV)/native.stamp  ## All tests.
	@$(BIN)/python -m pytest -q $(WORKERS) $(ARGS)

lint: $(VENV)/cpu,test.stamp $(VENV)/lint.stamp $(VENV)/native.stamp  ## Formatters, linters and types, as CI runs them.
	@$(CPP) | xargs $(CLANG_FORMAT) --dry-run -Werror
	@$(BIN)/ruff format --check --quiet
	@$(BIN)/ruff check --quiet
	@$(BIN)/mypy --strict

format: $(VENV)/lint.stamp  ## Format what the formatters can.
	@$(CPP) | xargs $(CLANG_FORMAT) -i
	@$(BIN)/ruff check --quiet --fix-only
	@$(BIN)/ruff format --quiet

debug: $(VENV)/cpu,test.stamp  ## Build without optimisation and with symbols; `make clean` goes back (docs/debugging.md).
	@PATH="$(CURDIR)/$(BIN):$$PATH" cmake -S . -B $(BUILD) -DCMAKE_CXX_FLAGS_RELEASE='-O0 -g' >/dev/null
	@rm -f $(VENV)/native.stamp
	@$(MAKE) --no-print-directory $(VENV)/native.stamp

bench: $(VENV)/cpu,test.stamp $(VENV)/native.stamp  ## The transfer library against the driver's own copies.
	@$(BIN)/python benchmarks/transfer.py $(ARGS)

docs: $(VENV)/docs.stamp  ## The documentation as a site, in build/site.
	@$(BIN)/mkdocs build --quiet --strict --site-dir build/site
	@echo build/site/index.html

wheel: $(VENV)/cpu,test.stamp $(VENV)/native.stamp  ## A wheel for this Python, in dist.
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/pip wheel --quiet --disable-pip-version-check --no-build-isolation --no-deps \
	  -C build-dir=$(BUILD) -w dist .

# Clang of the package ziglang, which has the interfaces of each glibc; its own C++ library is within the program.
program: $(VENV)/cpu,test.stamp $(VENV)/program.stamp $(VENV)/native.stamp  ## isthmus-check for any Linux from glibc 2.28 on, in dist.
	@PATH="$(CURDIR)/$(BIN):$$PATH" CXX="$(CURDIR)/$(BIN)/python -m ziglang c++ -target $(PROCESSOR)-linux-gnu.2.28" \
	  cmake -S . -B build/program -G Ninja -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON -DISTHMUS_CCACHE=OFF >/dev/null
	@$(BIN)/cmake --build build/program --target isthmus_check >build/program/log.txt || { cat build/program/log.txt; exit 1; }
	@mkdir -p dist && cp build/program/native/check/isthmus-check dist/isthmus-check-$(PROCESSOR)
	@ISTHMUS_CHECK=dist/isthmus-check-$(PROCESSOR) $(BIN)/python -m pytest -q -m 'not thorough' \
	  tests/integration/test_check_program.py tests/integration/test_check_watch.py

clean:  ## Remove what was built and installed here.
	@rm -rf $(VENV) build dist

# The build's tools stay in the environment: a build in isolation has them elsewhere each time, and compiles all anew.
$(VENV)/tools.stamp: | $(BIN)/pip
	@$(BIN)/pip install --quiet --disable-pip-version-check cmake ninja 'nanobind>=2.4' \
	  'scikit-build-core>=0.10' 'vl-convert-python>=1.7'
	@touch $@

$(VENV)/editable.stamp: $(INSTALL) $(VENV)/tools.stamp
	@echo "Building isthmus in $(BUILD); the first time takes minutes, and seconds after that." >&2
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/pip install --quiet --disable-pip-version-check --no-build-isolation \
	  -C build-dir=$(BUILD) -C editable.mode=redirect -e .
	@find src -name '*.py' >$(VENV)/modules.txt
	@touch $@ $(VENV)/native.stamp

$(VENV)/native.stamp: $(NATIVE) $(VENV)/editable.stamp
	@PATH="$(CURDIR)/$(BIN):$$PATH" cmake --build $(BUILD) >$(BUILD)/log.txt || { cat $(BUILD)/log.txt; exit 1; }
	@PATH="$(CURDIR)/$(BIN):$$PATH" cmake --install $(BUILD) >/dev/null \
	  --prefix "$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("platlib"))')"
	@touch $@

# Each stamp is named after the extras that it stands for.
$(VENV)/%.stamp: pyproject.toml $(VENV)/editable.stamp
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-build-isolation 'isthmus[$*]'
	@touch '$@'

$(BIN)/pip:
	@$(PYTHON) -m venv $(VENV) >/dev/null 2>&1 || { \
	  rm -rf $(VENV); \
	  echo "$(PYTHON) cannot make virtual environments; on Debian and Ubuntu: apt-get install python3-venv" >&2; \
	  exit 1; }
