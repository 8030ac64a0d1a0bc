# An index of commands: each target calls a script, cmake, ctest or pytest.
PRESET ?= dev
BUILD := $(if $(filter dev,$(PRESET)),build,build-$(PRESET))
PYTHON := .venv/bin/python
export CCACHE_BASEDIR := $(CURDIR)
export CCACHE_NOHASHDIR := 1
# With precompiled headers, a compiler cache works under these conditions only.
export CCACHE_SLOPPINESS := pch_defines,time_macros
# ctest runs so many entries at once: half more than processors, since tests with several
# processes wait a good part of their time.
export CTEST_PARALLEL_LEVEL ?= $(shell echo $$(($$(nproc) * 3 / 2)))
PCH ?= $(if $(filter dev asan tsan,$(PRESET)),ON,OFF)
# Several sources at a time: a build from nothing is shorter, one changed source longer.
UNITY ?= $(PCH)
# Whether a warning of the compiler ends the build, as it does in CI.
WERROR ?= OFF
# What a user needs to partition and run programs; tests need the rest.
DEMO_TARGETS := meshwright _meshwright

.DEFAULT_GOAL := help
.PHONY: demo test test-hardware test-tpu deps lock configure build lit unit py format style lint docs cpp-docs page page-check \
        bench difftest difftest-newest findings test-iree wheel wheel-test test-jax release test-asan test-tsan fuzz nightly clean help

demo: configure  ## install, build, partition a GPT step, train another on CPU devices
	@cmake --build $(BUILD) --target $(DEMO_TARGETS)
	@$(PYTHON) scripts/demo.py --bin $(BUILD)/bin --out $(BUILD)/demo

test: build  ## everything CI runs; ctest has the last line
	@ctest --test-dir $(BUILD) --output-on-failure

deps:  ## Debian packages from packages.txt, Python environment .venv
	@scripts/deps.sh

lock:  ## update requirements/*.txt from pyproject.toml (needs uv)
	@for group in bench hardware iree test tpu wheel; do uv pip compile -q --upgrade --universal \
	  --python-version 3.11 --group $$group --generate-hashes --no-header \
	  -o requirements/$$group.txt || exit; done

configure: deps
	@cmake --preset $(PRESET) -DMESHWRIGHT_PCH=$(PCH) -DMESHWRIGHT_UNITY=$(UNITY) \
	  -DCMAKE_COMPILE_WARNING_AS_ERROR=$(WERROR) >$(BUILD).log 2>&1 || \
	  { cat $(BUILD).log; exit 1; }

build: configure  ## configure and build (PRESET=dev|release|asan|tsan)
	@cmake --build $(BUILD)

lit: build  ## lit tests (make lit FILTER=shorten)
	@/usr/lib/llvm-22/bin/lit -sv $(if $(FILTER),--filter $(FILTER)) $(BUILD)/test

unit: build  ## GoogleTest
	@ctest --test-dir $(BUILD) --output-on-failure -R '^unit'

py: build  ## pytest
	@ctest --test-dir $(BUILD) --output-on-failure -R '^py'

format: deps  ## clang-format, ruff format
	@git ls-files '*.cpp' '*.h' | xargs clang-format-22 -i
	@.venv/bin/ruff format -q .

style: deps  ## the fast part of lint: formatting, ruff, layout, words
	@git ls-files '*.cpp' '*.h' | xargs clang-format-22 --dry-run -Werror
	@.venv/bin/ruff check -q . && .venv/bin/ruff format -q --check .
	@$(PYTHON) scripts/check_layout.py
	@$(PYTHON) scripts/check_words.py

test-asan:  ## tests under address and undefined behaviour sanitizers (FILTER='^lit')
	@scripts/test_sanitized.sh asan

test-tsan:  ## what threads share, under the thread sanitizer (more: FILTER='^lit')
	@scripts/test_sanitized.sh tsan

fuzz:  ## mutated programs and files for SECONDS a target (TARGETS="passes partition")
	@fuzz/run.sh

test-hardware: build  ## programs through the compilers of TPUs and GPUs (2 GB; TARGETS="v5e:2x4")
	@scripts/test_hardware.sh $(BUILD) $(TARGETS)

test-tpu: build  ## one small program through the compiler of TPUs (0.7 GB)
	@scripts/test_tpu.sh $(BUILD)

trainers: build  ## MaxText, Tunix and Keras as pipelines (needs Python 3.12, 2 GB)
	@MESHWRIGHT_EXTENSION=$(BUILD)/python scripts/trainers.sh $(BUILD)/trainers

test-iree: build  ## fragments of all programs compiled and run by IREE, against XLA
	@scripts/deps.sh iree
	@$(PYTHON) -m pytest test/iree --bin=$(BUILD)/bin -s

nightly:  ## all tests under sanitizers and without assertions, clang-tidy
	@scripts/nightly.sh

lint: build style  ## style, clang-tidy
	@git ls-files '*.cpp' | xargs -P 2 -n 8 clang-tidy-22 --quiet -p $(BUILD)

page:  ## the page of meshwright draw, from tools/page (needs Node 20 and npm)
	@cd tools/page && npm ci --no-audit --no-fund --silent && npm run -s build

page-check:  ## whether the page in the tree is what tools/page makes
	@cd tools/page && npm ci --no-audit --no-fund --silent && npm run -s check

docs: build  ## the documentation as a site, into build/site
	@$(PYTHON) scripts/schedule_docs.py --bin $(BUILD)/bin
	@$(PYTHON) scripts/draw_docs.py --bin $(BUILD)/bin
	@$(PYTHON) scripts/site_builder.py --build $(BUILD)

cpp-docs:  ## the C++ interfaces by doxygen, into build/cpp-docs/html
	@command -v doxygen >/dev/null || { echo "install doxygen first" >&2; exit 1; }
	@mkdir -p build && doxygen docs/Doxyfile

bench: build  ## speed: all of bench/benches.py, as one report in build/bench (ONLY=call,page)
	@scripts/deps.sh bench
	@$(PYTHON) bench/report.py --bin $(BUILD)/bin --only "$(ONLY)"

difftest: build  ## random and changed programs against jaxlib (make difftest N=5000)
	@$(PYTHON) -m support.difftest $(or $(N),1000) --bin $(BUILD)/bin
	@$(PYTHON) -m support.difftest $(or $(N),1000) --bin $(BUILD)/bin --programs
	@$(PYTHON) -m support.difftest $(or $(N),1000) --models
	@$(PYTHON) -m support.difftest $(or $(N),1000) --placement
	@$(PYTHON) -m support.difftest $(or $(N),1000) --mutants --bin $(BUILD)/bin
	@$(PYTHON) -m support.difftest $(or $(N),1000) --tokens --bin $(BUILD)/bin

difftest-newest:  ## the same against the newest jaxlib (Python 3.12 or 3.13)
	@$(MAKE) difftest PYTHON="$$(scripts/newest_jax.sh)"

findings:  ## surprising behaviour of other libraries: whether it still is so (findings/)
	@scripts/findings.sh

wheel: deps  ## a wheel with LLVM linked in, for any Python and Linux, into dist/
	@scripts/deps.sh wheel
	@$(PYTHON) scripts/build_wheel.py

wheel-test: wheel  ## install it into a bare Debian 13 and train (as root; ROOT=, JAX=)
	@scripts/wheel_test.sh $(ROOT)

test-jax: wheel  ## the Python tests on the newest JAX in a Debian 13 (root)
	@scripts/test_jax.sh

release: build  ## source archive, wheel, site, bill of materials into dist/, checked
	@scripts/deps.sh wheel
	@$(PYTHON) scripts/release.py --build $(BUILD) $(if $(DRAFT),--draft)

clean:  ## remove build trees and outputs; keeps .venv
	@rm -rf build build-* build.log build-*.log dist out

help:  ## this list
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/:[^#]*## /\t/' | expand -t 12
