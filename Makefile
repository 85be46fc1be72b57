PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV := $(shell command -v uv 2>/dev/null || echo $(PYTHON) -m uv)

# Where this is set, every process compiles vLLM, torch and transformers again: 50 s instead of 10.
export PYTHONDONTWRITEBYTECODE :=

TASKS ?= live_ocr
VARIANTS ?= bf16,w8a8,w4a16,w4naive,fp8
BASELINE ?= bf16
# Images of each variant, so that five variants take minutes on two cores; `make demo LIMIT=` takes all 1,500.
LIMIT ?= 1000
RUNS ?= runs/demo
DEMO_CANDIDATES = $(filter-out $(BASELINE),$(subst $(comma), ,$(VARIANTS)))
comma := ,

.PHONY: setup demo test lint typecheck browser clean

setup: $(VENV)/.ready

$(VENV)/.ready: pyproject.toml constraints.txt overrides-cpu.txt
	@$(UV) --version >/dev/null 2>&1 || $(PYTHON) -m pip install --quiet 'uv>=0.5'
	$(UV) venv --quiet --allow-existing --python '>=3.11,<3.13' $(VENV)
	$(UV) pip install --quiet --python $(BIN)/python --constraint constraints.txt --override overrides-cpu.txt --editable '.[cpu,dev]'
	@touch $@

# The gate ends with 1 on a BREACH and 2 where the evidence is too thin: both are answers, and the demo shows them.
demo: setup
	$(BIN)/tlive run --tasks $(TASKS) --variants $(VARIANTS) $(if $(LIMIT),--limit $(LIMIT)) --out $(RUNS)
	$(BIN)/tlive report $(foreach variant,$(BASELINE) $(DEMO_CANDIDATES),$(RUNS)/$(variant)) --baseline $(BASELINE) -o $(RUNS)/report.html
	@$(BIN)/tlive gate --baseline $(RUNS)/$(BASELINE) $(foreach variant,$(DEMO_CANDIDATES),--candidate $(RUNS)/$(variant)); \
	status=$$?; echo "page: $(abspath $(RUNS))/report.html"; test $$status -le 2

test: setup lint typecheck browser
	$(BIN)/pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder --cov --cov-report=term:skip-covered --cov-fail-under=90 \
	  tests/model_adapters/test_live_ocr_on_vllm.py tests

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# mypy follows no editable install, so it is given a copy of the package as pip would install it.
typecheck: setup
	rm -rf build/typecheck
	$(UV) pip install --quiet --python $(BIN)/python --no-deps --target build/typecheck .
	cd build/typecheck && ../../$(BIN)/mypy --config-file ../../pyproject.toml -p tliveomni_eval

browser:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || \
	{ echo "installing Chromium for the tests of the page"; \
	  $$(command -v sudo) sh -c 'apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y chromium >/dev/null'; } || \
	{ echo "no Chromium: install one (Debian: apt-get install chromium) and run make test again"; exit 1; }

# llm-compressor and vLLM need different versions of compressed-tensors: quantizing has an environment of its own.
QUANTIZE_VENV := .venv-quantize
QUANTIZE_BIN := $(QUANTIZE_VENV)/bin
RECIPES ?= w8a8 w4a16 fp8 w4naive
CHECKPOINTS := model_adapters/nano/checkpoints

.PHONY: quantize quantize-environment
quantize: quantize-environment
	@for recipe in $(RECIPES); do \
	  $(QUANTIZE_BIN)/tlive quantize --model $(CHECKPOINTS)/bf16 --recipe $$recipe --out $(CHECKPOINTS)/$$recipe || exit $$?; \
	done
	$(QUANTIZE_BIN)/python -m tliveomni_eval.model_adapters.nano.embedded_checkpoints record $(RECIPES)

quantize-environment: $(QUANTIZE_VENV)/.ready

$(QUANTIZE_VENV)/.ready: pyproject.toml requirements-quantize.txt
	@$(UV) --version >/dev/null 2>&1 || $(PYTHON) -m pip install --quiet 'uv>=0.5'
	$(UV) venv --quiet --allow-existing --python '>=3.11,<3.13' $(QUANTIZE_VENV)
	$(UV) pip install --quiet --python $(QUANTIZE_BIN)/python --requirement requirements-quantize.txt
	$(UV) pip install --quiet --python $(QUANTIZE_BIN)/python --no-deps --editable .
	@touch $@

clean:
	rm -rf $(VENV) build runs

# Error rates, coverage and power of the release gate, with their plot: about ten minutes on two idle cores.
.PHONY: simulate benchmark-gate
simulate: setup
	$(BIN)/python tests/simulation/simulate.py --output docs

benchmark-gate: setup
	$(BIN)/python tests/benchmarks/gate_speed.py

.PHONY: constraints
constraints: setup
	@{ echo "# Versions the project is tested with: pip and uv take them with --constraint. Made by \`make constraints\`."; \
	   $(UV) pip freeze --python $(BIN)/python --exclude-editable | grep -E '^[A-Za-z0-9_.-]+=='; } > constraints.txt

# The built page is committed; this makes it anew from its sources (Node 20).
.PHONY: page
page:
	cd leaderboard/frontend && npm ci --silent && npm run build

# The bank of speech (Kokoro-82M; about 0.9 s of one core for a second of speech). An environment of its own: what says
# the sentences is needed by nobody who evaluates. Needs npm (for the voices) and espeak-ng (Debian: apt-get install espeak-ng).
COMPOSE_VENV := .venv-compose
SIDE ?= eval
SPEECH ?= build/speech
LINES ?=
BANK ?= $(if $(filter eval,$(SIDE)),tasks/composer/speech,$(SPEECH)/bank-$(SIDE))

.PHONY: compose-speech
compose-speech: $(COMPOSE_VENV)/.ready $(SPEECH)/package/voices
	@command -v espeak-ng >/dev/null || { echo "no espeak-ng: install one (Debian: apt-get install espeak-ng)"; exit 1; }
	$(COMPOSE_VENV)/bin/python -m tliveomni_eval.tasks.composer.synthesize_speech --voices $(SPEECH)/package/voices \
	  --out $(SPEECH)/$(SIDE) --bank $(BANK) --side $(SIDE) $(if $(LINES),--lines $(LINES))

$(COMPOSE_VENV)/.ready: pyproject.toml requirements-compose.txt
	@$(UV) --version >/dev/null 2>&1 || $(PYTHON) -m pip install --quiet 'uv>=0.5'
	$(UV) venv --quiet --allow-existing --python '>=3.11,<3.13' $(COMPOSE_VENV)
	$(UV) pip install --quiet --python $(COMPOSE_VENV)/bin/python --no-deps --requirement requirements-compose.txt
	$(UV) pip install --quiet --python $(COMPOSE_VENV)/bin/python --no-deps --editable .
	@touch $@

$(SPEECH)/package/voices:
	mkdir -p $(SPEECH) && cd $(SPEECH) && npm pack --silent kokoro-js@1.2.1 && tar xzf kokoro-js-1.2.1.tgz

# Known faults in the pinned packages, and the licences of all. Needs an index that lists faults: with --strict, a package that cannot
# be looked up is an error and no pass.
.PHONY: audit licenses
audit: licenses
	@$(UV) tool run --quiet pip-audit==2.10.1 --strict --disable-pip --no-deps --progress-spinner off --requirement constraints.txt || \
	{ echo "make audit: a known fault, or no index was reachable and nothing was audited; see above"; exit 1; }

licenses: setup
	$(BIN)/python .ci/licenses.py > docs/licenses.md
