# make setup builds .venv/ once; the other targets call it.

PYTHON ?= python3
FUZZ_BATCHES ?= 20
FUZZ_LEAPS ?= 1
FUZZ_LEDGERS ?= 240
SCHEDULES ?= 2400
SPARKS ?=
PROTOCOLS ?= kafka,kafka+elr,kafka-high-watermark,kafka-kip101,kafka-kip279

TIER_SCHEDULES ?= 240
TIER_PROTOCOLS ?= kafka,kafka-mutant-delete-before-copy

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
EXAMPLE := datasets/examples/kafka-4.1.1
DEMO := build/demo

# Where Python is told to keep no bytecode, each of a run's processes compiles every source again: half a second.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: setup demo site test test-packed test-sparks bench lint fuzz fuzz-bounds fuzz-leaps fuzz-ledgers fuzz-quorums fuzz-relational fuzz-relational-on-spark verify verify-tiers
.DEFAULT_GOAL := test

setup: $(STAMP)
	@$(BIN)/python -c 'from emulator.spark.java import java_major_version as java; import sys; sys.exit((java() or 0) < 17)' \
		|| echo 'Java 17 or later is needed: sudo apt-get install openjdk-17-jre-headless'

$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 10) <= sys.version_info < (3, 14))' \
		|| { echo 'Python 3.10 to 3.13 is needed: make setup PYTHON=python3.12'; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@echo 'Compiling the rounds and loading Spark, once: four minutes of a fast machine, twenty of a slow one ...'
	@$(BIN)/python -m emulator.engine.compile_all
	@$(BIN)/python -m emulator.spark.keep_classes
	@touch $@

# A real cluster, scaled up, goes through a minute of trouble: what was lost, and how long was what unavailable?
demo: setup
	@mkdir -p $(DEMO)
	$(BIN)/emulator import kafka --describe $(EXAMPLE)/topics_describe_healthy.txt \
		--log-dirs $(EXAMPLE)/log_dirs_healthy.txt --data-dir 1=$(EXAMPLE)/broker1 --data-dir 2=$(EXAMPLE)/broker2 \
		--data-dir 3=$(EXAMPLE)/broker3 --out $(DEMO)/cluster
	$(BIN)/emulator run datasets/examples/demo.toml --out $(DEMO)/result
	@echo
	@$(BIN)/emulator sql $(DEMO)/result - < datasets/examples/demo_report.sql
	@echo
	@echo 'Twenty of its partitions are played once more by other rules, in a minute or so: is every cell the same?'
	$(BIN)/emulator check $(DEMO)/result --sample 20
	@echo
	@echo 'orders, pay and solo are written with acks=all, seg with acks=1. The scenario: datasets/examples/demo.toml'
	@echo 'Ask more:'
	@echo '  $(BIN)/emulator sql $(DEMO)/result                                  # the bundled questions'
	@echo '  $(BIN)/emulator sql $(DEMO)/result @which_partitions_lost_records   # one of them'
	@echo '  $(BIN)/emulator sql $(DEMO)/result "SELECT kind, count(*) FROM events GROUP BY kind"'

# Two at a time, one of them with a Spark (tests/conftest.py): most of a test's time its driver plans on one core.
test: setup
	$(BIN)/python -m pytest -q -n 2 --dist loadfile --no-loadscope-reorder

# Two workers whose Python has no packages, with the archive of `emulator pack`: all packages, rounds for any CPU of this kind.
test-packed: setup
	PACK_ALL=1 $(BIN)/python -m pytest -q tests/test_packed_cluster.py

# The demo on Spark 4.0 to 4.3, classic and Connect, each in an environment of its own (build/sparks); SPARKS=4.3.0: only there.
test-sparks: demo
	$(BIN)/python tests/sparks/compare.py $(SPARKS)

# The pages of docs/ as a site, in build/site; a link that leads nowhere fails.
site: setup
	$(BIN)/python -m sphinx -q -W --keep-going -b html -d build/site.doctrees docs build/site
	@echo 'build/site/index.html'

# Every benchmark, one after the other; each prints what it measured.
bench: setup
	@set -e; for script in benchmarks/[a-z]*.py; do echo "== $$script"; $(BIN)/python $$script; done

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# More random scenarios through the engine and the plain-Python reference than the test suite has.
fuzz: setup
	FUZZ_BATCHES=$(FUZZ_BATCHES) $(BIN)/python -m pytest -q tests/test_differential.py

# Relational rounds against the plain-Python reference: the suite's run, and one of 300 whole scenarios of each kind: Kafka with
# and without ELR, with retention, and every older generation.
fuzz-relational: setup
	FUZZ_BATCHES=1 $(BIN)/python -m pytest -q tests/test_relational_rounds.py -k equal_reference

# 300 short scenarios of all kinds, 50 of each, as partitions of one run that Spark works out: minutes of an idle machine.
fuzz-relational-on-spark: setup
	FUZZ_BATCHES_ON_SPARK=1 $(BIN)/python -m pytest -q tests/test_relational_rounds.py -k "equal_reference and True"

# 300 cases of the suite with every index of compiled rounds checked, and references counted: minutes of compiling, once.
fuzz-bounds: setup
	FUZZ_BOUNDS=1 $(BIN)/python -m pytest -q tests/rounds/test_compiled.py -k in_another_form

# Random scenarios by leaps and by plain rounds: 2,000 and 200 tiered ones, half of which groups read, for each of FUZZ_LEAPS.
fuzz-leaps: setup
	FUZZ_LEAPS=$(FUZZ_LEAPS) $(BIN)/python -m pytest -q tests/test_random_leaps.py

# Random schedules of every protocol of groups, SCHEDULES of each, against the reference, every column of every round.
fuzz-quorums: setup
	$(BIN)/python -m tests.rounds.quorums.test_differential 0 $(SCHEDULES)

# FUZZ_LEDGERS schedules of each of 17 kinds (4,080) through compiled rounds of ledgers and topics, and the reference.
fuzz-ledgers: setup
	FUZZ_LEDGERS=$(FUZZ_LEDGERS) $(BIN)/python -m pytest -q tests/rounds/bookkeeper/test_random_ledgers.py

# Random small fault schedules under every protocol generation: who breaks which invariant?
verify: setup
	@mkdir -p build
	$(BIN)/python -m datasets.schedules $(SCHEDULES) $(PROTOCOLS) > build/schedules.toml
	$(BIN)/emulator run build/schedules.toml --out build/schedules --mode plain
	@$(BIN)/emulator sql build/schedules @which_invariants_were_violated

# The same of tiered partitions, store and metadata in trouble as well; TIER_PROTOCOLS=kafka alone is today's.
verify-tiers: setup
	@mkdir -p build
	$(BIN)/python -m datasets.tier_schedules $(TIER_SCHEDULES) $(TIER_PROTOCOLS) > build/tier-schedules.toml
	$(BIN)/emulator run build/tier-schedules.toml --out build/tier-schedules --mode plain
	@$(BIN)/emulator sql build/tier-schedules @which_protocols_broke_invariants
