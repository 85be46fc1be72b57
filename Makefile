PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV := $(shell command -v uv 2>/dev/null || echo $(PYTHON) -m uv)
VARIANTS ?= bf16,w8a8,w4a16,fp8,w4naive
TASKS ?= live_ocr

.PHONY: setup demo test lint quantize clean

setup: $(VENV)/.ready

$(VENV)/.ready: pyproject.toml constraints.txt overrides-cpu.txt
	@$(UV) --version >/dev/null 2>&1 || $(PYTHON) -m pip install --quiet 'uv>=0.5'
	$(UV) venv --quiet --allow-existing --python '>=3.11,<3.13' $(VENV)
	$(UV) pip install --quiet --python $(BIN)/python --constraint constraints.txt --override overrides-cpu.txt --editable '.[cpu,dev]'
	@touch $@

clean:
	rm -rf $(VENV) build runs
