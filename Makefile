# Two commands that set themselves up: `make measure` runs the main job on this machine, `make test` passes the tests.
# Both need python3 with venv, g++ and make. ARGS is handed on: make measure ARGS='--quick --device host'.
PYTHON ?= python3
VENV := .venv
SOURCES := $(shell find examples include native src CMakeLists.txt pyproject.toml README.md LICENSE -type f ! -name '*.pyc')

.PHONY: measure test
measure: $(VENV)/cpu.stamp
	@$(VENV)/bin/isthmus measure $(ARGS)

test: $(VENV)/cpu,test.stamp
	@$(VENV)/bin/python -m pytest -q $(ARGS)

# Each stamp is named after the extras that it stands for.
$(VENV)/%.stamp: $(SOURCES) | $(VENV)/bin/pip
	@echo "Building and installing isthmus[$*] in $(VENV); the first time takes a minute or two." >&2
	@$(VENV)/bin/pip install --quiet --disable-pip-version-check '.[$*]'
	@touch '$@'

$(VENV)/bin/pip:
	@$(PYTHON) -m venv $(VENV) >/dev/null 2>&1 || { \
	  rm -rf $(VENV); \
	  echo "$(PYTHON) cannot make virtual environments; on Debian and Ubuntu: apt-get install python3-venv" >&2; \
	  exit 1; }
