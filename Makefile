# make chat       set up what a chat needs, fetch the default models, open the chat
# make llama      compile llama.cpp, where `make chat` did without
# make wheel      build dist/specchat-….whl, which uv tool install, uvx, pipx and pip install
# make native     compile ik_llama.cpp for this processor, and keep it if it is faster than its wheel
# make test       set everything up, pass every check and test
# make test-all   the same with the slow tests
# make test-clients  the clients that people use, against a running server; fetches them
# make attack     only what attacks it: keys, pastes, files, servers, clients, full disks; minutes
# All are safe to repeat; what is done already is not done again.

PYTHON ?= python3
BIN := .venv/bin

.PHONY: chat llama native wheel test test-all test-clients attack check lint types clean ready-to-test

# They would lead Python and pip past .venv.
unexport PYTHONHOME PYTHONWARNINGS PIP_TARGET PIP_PREFIX
export PIP_USER = 0

define set_up
	@command -v $(PYTHON) >/dev/null || { \
		echo "specchat needs Python 3.11 or newer, and there is no $(PYTHON). Install it as your"; \
		echo "system does (apt-get, dnf, pacman or brew install python3), or say where it is:"; \
		echo "make $(MAKECMDGOALS) PYTHON=/path/to/python3.12"; exit 1; }
	@$(PYTHON) -m models.set_up $(1)
endef

chat:
	$(call set_up,chat)
	@$(BIN)/specchat

llama:
	$(call set_up,llama)

native:
	$(call set_up,native)

test: lint types check

wheel:
	@$(PYTHON) -m pip wheel --quiet --no-deps --wheel-dir dist .

ready-to-test:
	$(call set_up,test)

# One more than there are cores: many a test waits for a process or a terminal.
WORKERS := $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)

# With the tests that are too slow for every day; a release runs it.
test-all: export SPECCHAT_TEST_ALL = 1
test-all: test

test-clients: ready-to-test
	@folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && \
	$(BIN)/python -m venv "$$folder/python" && $(BIN)/python -m venv "$$folder/aider" && \
	"$$folder/python/bin/pip" install -q uv && \
	uv="$$folder/python/bin/uv pip install -q --python" && \
	$$uv "$$folder/python" -r tests/clients/requirements.txt && \
	$$uv "$$folder/aider" aider-chat && \
	npm install --silent --prefix "$$folder" openai opencode-ai && \
	$(BIN)/python -m tests.clients.served "$$folder"

# The hostile texts are some of each family; `make test-all` takes all of them everywhere.
attack: ready-to-test
	@folder=$$(mktemp -d) && chmod 711 "$$folder" && trap 'rm -rf "$$folder"' EXIT && \
	export TMPDIR="$$folder" HYPOTHESIS_STORAGE_DIRECTORY="$$folder" && \
	export PYTHONPYCACHEPREFIX="$$folder/compiled" && \
	pytest="$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -p no:cacheprovider" && \
	$$pytest --basetemp "$$folder/shown" tests/terminal/test_hostile_* && \
	SPECCHAT_TEST_ALL=1 $$pytest --basetemp "$$folder/tests" tests/terminal/test_attacks.py \
		tests/terminal/test_pasting.py tests/assistant/tools \
		tests/assistant/serve/test_http.py tests/assistant/store/test_opening.py \
		tests/assistant/serve/test_conversation_schema.py \
		tests/assistant/passages/test_walking.py tests/assistant/edit/test_text_file.py && \
	SPECCHAT_TEST_ALL=1 SPECCHAT_TEST_ENGINE=ik $$pytest --basetemp "$$folder/copies" \
		tests/models/test_repacked.py

check: ready-to-test
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

lint: ready-to-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: ready-to-test
	$(BIN)/mypy

clean:
	rm -rf .venv
