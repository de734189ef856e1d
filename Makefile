# P4Mesh: every task of the project. "make" alone lists them.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
TEST ?= rfc2889.fully_meshed
TOPOLOGY ?= topologies/wrs-18x1g.yaml
ARGS ?=
TARGET ?= engine
SECONDS ?= 60
SEED ?= 1
KILLS ?= 100
DEVICES ?= 100
RUNS ?= 200

ENGINE_SOURCES := $(shell find engine -name target -prune -o \( -name '*.rs' -o -name 'Cargo.*' -o -name '*.proto' \) -print)
# Tests start hundreds of processes: without bytecode of modules each of them would compile all that it loads.
unexport PYTHONDONTWRITEBYTECODE

WALL_CLOCK_FILES = $(shell grep -rlE --include='test_*.py' 'mark\.wall_clock' controlplane/tests engine/python/tests)
BUILT := $(VENV)/.engine-built
INSTALLED := $(VENV)/.packages-installed
TESTING := $(VENV)/.test-packages-installed
LINTING := $(VENV)/.lint-packages-installed
# Packages have the versions of constraints.txt. pip and cargo say nothing unless something fails.
QUIET := CARGO_TERM_QUIET=true PIP_QUIET=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_CONSTRAINT=controlplane/constraints.txt
PIP := $(QUIET) $(BIN)/python -m pip install
# maturin tells of its steps whatever it is told: its words are shown when it fails. $(1): further options.
MATURIN = said=$$($(QUIET) VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/maturin develop --quiet --release --locked $(1) 2>&1) \
	|| { echo "$$said" >&2; exit 1; }

.DEFAULT_GOAL := help
.PHONY: help setup run check test test-rust test-python test-live test-ptf differential outcomes mutants fuzz lint types format p4 p4-tofino ptf bench docs wheel release clean prerequisites
.DELETE_ON_ERROR:

help: ## list the tasks
	@echo "P4Mesh tasks:"
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{printf "%-20s %s\n", $$1, $$2}'

prerequisites:
	@PYTHON="$(PYTHON)" scripts/check_prerequisites.sh

setup: $(BUILT) ## create .venv and build the engine into it: all that a run needs

$(INSTALLED): controlplane/constraints.txt pyproject.toml | prerequisites
	@echo "1 of 3: Python environment in $(VENV), with what builds the engine"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(PIP) maturin
	@touch $@

$(BUILT): $(INSTALLED) $(ENGINE_SOURCES) | prerequisites
	@echo "2 of 3: engine in Rust, some minutes the first time, and the packages that a run needs"
	@$(call MATURIN)
	@touch $@

$(TESTING): $(BUILT)
	@echo "packages that tests need"
	@$(call MATURIN,--extras test)
	@# Without its dependencies: one of them needs Python's C headers, and the tests need none of them.
	@$(PIP) --no-deps ptf
	@# Compiles the tests once: else each of the processes that run them would.
	@said=$$($(BIN)/python -m pytest -q --collect-only) || { echo "$$said" >&2; exit 1; }
	@touch $@

$(LINTING): $(BUILT)
	@echo "packages that check style and types"
	@$(call MATURIN,--extras lint)
	@touch $@

run: setup ## run the main job: RFC 2889 fully meshed on a simulated 18-port switch (TEST=, TOPOLOGY=, ARGS=)
	@echo "3 of 3: p4mesh run $(TEST) --topology $(TOPOLOGY) $(ARGS)"
	@$(BIN)/p4mesh run $(TEST) --topology $(TOPOLOGY) $(ARGS)

test: test-rust test-python test-ptf ## run all tests
	@echo "all tests passed: Rust (engine), Python (control plane, simulation) and PTF (data plane)"

test-rust: prerequisites ## run the tests of the engine
	cd engine && cargo test --locked --workspace --quiet

test-python: $(TESTING) ## run the tests of the control plane and of the data plane in simulation
	@# Two processes more than cores: a quarter of their time, tests wait for sockets and processes of their own.
	$(BIN)/python -m pytest -q -m "not wall_clock and not live" --numprocesses $$(($$(nproc) + 2)) --dist worksteal $(ARGS)
	@# Tests against the clock on the wall follow, one after the other on a machine that does nothing else.
	$(BIN)/python -m pytest -q -m "wall_clock and not live" $(WALL_CLOCK_FILES) $(ARGS)

test-live: $(TESTING) ## test devices of this machine, as root: bridge, Open vSwitch, routers, BMv2; what is missing is skipped, with the reason
	$(BIN)/python -m pytest -q -m live controlplane/tests/live $(ARGS)

ptf: $(TESTING) ## run the PTF tests of the data plane (TARGET=engine, bmv2 as root, tofino or sources: docs/TOFINO.md)
	$(BIN)/python -m pytest -q ptf-tests --target $(TARGET) $(ARGS)

test-ptf: $(TESTING) ## run the PTF tests on the engine, and on simple_switch_grpc where it is installed
	@# Each process has a bench of its own; those on simple_switch_grpc wait for real time.
	$(BIN)/python -m pytest -q ptf-tests --target engine --numprocesses 3
	@if ! command -v simple_switch_grpc > /dev/null; then echo "PTF on bmv2: not run, simple_switch_grpc is not installed"; \
	elif [ "$$(id -u)" != 0 ]; then echo "PTF on bmv2: not run, network namespaces need root"; \
	else $(BIN)/python -m pytest -q ptf-tests --target bmv2 --numprocesses 3; fi

differential: $(TESTING) ## compare the engine with simple_switch_grpc, or with what it was recorded to do where it is absent
	@if command -v simple_switch_grpc > /dev/null; then echo "simple_switch_grpc: new random scenarios"; \
	else echo "simple_switch_grpc is not installed: recorded scenarios"; fi
	$(BIN)/python -m pytest -q engine/differential $$(command -v simple_switch_grpc > /dev/null && echo --live) $(ARGS)

outcomes: setup ## run every test on a small bed and compare what it wrote with the record (ARGS=rfc2544: a suite or test)
	$(BIN)/python scripts/outcomes.py $(ARGS)

mutants: $(TESTING) ## change files place by place and print what no test notices (ARGS="FILE TESTS", see scripts/mutants.py)
	@$(PIP) cosmic-ray
	$(BIN)/python scripts/mutants.py $(ARGS)

fuzz: $(TESTING) ## fuzz the loader, parsers and deparsers, the P4Runtime server and networks (SECONDS=60 each), queues of seeded devices (DEVICES=100) and of twice as many meshes, all stacks of headers, and kill runs (KILLS=100)
	cd engine && cargo run --release --locked -p p4mesh-pipeline --example fuzz -- $(SECONDS) $(SEED) pipeline/tests/programs/*.json
	cd engine && P4MESH_FUZZ_SECONDS=$(SECONDS) P4MESH_FUZZ_SEED=$(SEED) cargo test --release --locked \
		-p p4mesh-pipeline -p p4mesh-p4runtime -p p4mesh-sim --test frames --test fuzz --test documents -- --nocapture
	P4MESH_QUEUE_DEVICES=$(DEVICES) $(BIN)/python -m pytest -q --numprocesses auto --dist worksteal -k seeded_devices \
		controlplane/tests/trial/test_queue_trend.py controlplane/tests/methods/test_sustained.py
	P4MESH_ALL_HEADERS=1 $(BIN)/python -m pytest -q controlplane/tests/trial/test_any_headers.py \
		controlplane/tests/target/test_tofino_program_runs.py
	P4MESH_RANDOM_RUNS=$(RUNS) $(BIN)/python -m pytest -q --numprocesses auto controlplane/tests/methods/test_random_runs.py
	P4MESH_QUEUE_MESHES=$$((2 * $(DEVICES))) $(BIN)/python -m pytest -q --capture=no -k truth \
		controlplane/tests/measurement/test_queues_of_meshes.py
	$(BIN)/python scripts/kill_campaign.py --kills $(KILLS) --seed $(SEED)

check: lint types docs test ## lint, types, documentation and all tests: what continuous integration runs

lint: $(LINTING) ## check style and formatting of Python and Rust
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	cd engine && cargo fmt --check && cargo clippy --locked --workspace --all-targets -- --deny warnings

# Tests and tools are checked less strictly than the product. Each line has the folders that its files import from.
# The product is checked by the first command: what these flags would say of it is not shown again.
MYPY_TOOLS := $(BIN)/mypy --explicit-package-bases --follow-imports=silent --allow-any-generics --no-warn-return-any \
	--allow-subclassing-any
types: $(TESTING) $(LINTING) ## check the types of all Python
	$(BIN)/mypy
	MYPYPATH=controlplane:controlplane/tests:ptf-tests $(MYPY_TOOLS) ptf-tests
	MYPYPATH=controlplane:scripts $(MYPY_TOOLS) scripts
	MYPYPATH=controlplane:engine/differential $(MYPY_TOOLS) engine/differential
	MYPYPATH=controlplane:engine/python $(MYPY_TOOLS) engine/python/bench engine/python/tests
	MYPYPATH=controlplane:controlplane/tests:controlplane/tests/p4runtime:ptf-tests $(MYPY_TOOLS) --implicit-reexport --disable-error-code operator --disable-error-code comparison-overlap controlplane/tests

format: $(LINTING) ## format Python and Rust
	$(BIN)/ruff format .
	cd engine && cargo fmt

bench: setup ## measure frames/s and the control plane beside other programs that are installed (ARGS=live: one group)
	cd engine/python && $(CURDIR)/$(BIN)/python -m bench $(ARGS)

p4: setup ## compile the P4 programs (needs p4c)
	$(BIN)/python scripts/compile_p4.py

p4-tofino: setup ## compile and assemble the tester for Tofino 1 and 2 (needs p4c-barefoot and bfas; P4C_TOFINO=, BFAS_TOFINO=)
	$(BIN)/python scripts/compile_tofino.py $(ARGS)

docs: setup ## build the documentation as a site and as a manual page into docs/_build
	@$(PIP) furo myst-parser Sphinx
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs docs/_build/html
	$(BIN)/python -m sphinx -q -W --keep-going -b man docs docs/_build/man

wheel: setup ## build the wheel into dist, and try it where there is no compiler
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python scripts/build_wheel.py
	$(BIN)/python scripts/try_wheel.py

release: docs ## make all that a release has into dist, try it in an empty environment, print the steps that publish it
	@# zig is the linker for the other processor, where Rust has its standard library.
	@$(PIP) cyclonedx-bom ziglang
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python scripts/release.py

clean: ## remove what was built; runs/ stays
	rm -rf $(VENV) engine/target dist docs/_build .pytest_cache .ruff_cache .mypy_cache
