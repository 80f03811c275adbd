# `make demo` and `make test` are all that a fresh clone needs. See README.md for what the machine must have.

# Features that build without any native library; whoever adds one lists it here.
FEATURES := tff-proto/service,tff-types/arbitrary,tff-ir/arbitrary,tff-exec/service
# The feature that links XLA. Its types are checked without what it links.
LINKED := tff-cli/xla
FUZZ_TARGETS := compile computation_decode computation_random computation_text type_decode type_text xla_binding
FUZZ_SECONDS := 60

TARGET := $(or $(CARGO_TARGET_DIR),target)
CXX_FOUND := $(shell command -v $${CXX:-c++})
NEXTEST_FOUND := $(shell cargo nextest --version 2>/dev/null)
DENY_FOUND := $(shell cargo deny --version 2>/dev/null)

.PHONY: demo test test-xla-extension lint unit doc smoke deny python wheel bench fuzz native conformance
.NOTPARALLEL:

# Trains and evaluates a model on handwritten digits that are spread over 20 clients; draws the metrics to target/digits.svg.
demo:
	scripts/native.sh tensorflow
	cargo build --locked --release -p tff-cli
	$(TARGET)/release/tff simulate examples/digits/digits.toml --plot $(TARGET)/digits.svg

# All checks.
test: lint unit doc smoke deny python

# The suite of the XLA leaf on an XLA that is linked instead of a plugin. Needs a C++ compiler; fetches 385 MB the first time.
test-xla-extension:
	scripts/xla_extension.sh cargo test --locked --workspace --features $(FEATURES),$(LINKED) --test xla

lint:
	cargo fmt --all --check
	cargo fmt --manifest-path fuzz/Cargo.toml --check
	cargo fmt --manifest-path tff-python/Cargo.toml --check
	scripts/xla_extension.sh --check cargo clippy --locked --workspace --all-targets --features $(FEATURES),$(LINKED) -- -D warnings
	cargo clippy --locked --manifest-path tff-python/Cargo.toml --target-dir $(TARGET) -- -D warnings

unit:
	scripts/native.sh
	cargo $(if $(NEXTEST_FOUND),nextest run,test --lib --bins --tests) --no-fail-fast --locked --workspace --features $(FEATURES)
	cargo test --locked --workspace --features $(FEATURES) --doc

doc: export RUSTDOCFLAGS := -D warnings
doc:
	cargo doc --locked --workspace --features $(FEATURES) --no-deps

# Whether benches and fuzz targets build; replays the committed corpus. libFuzzer is C++.
smoke:
	cargo build --locked -p tff-benches --benches
ifeq ($(CXX_FOUND),)
	@echo 'skipped: the fuzz targets need a C++ compiler (none is found as $${CXX:-c++})'
else
	$(foreach target,$(FUZZ_TARGETS),cargo run --locked --manifest-path fuzz/Cargo.toml --target-dir $(TARGET) --bin $(target) -- -runs=0 fuzz/corpus/$(target) &&) true
endif

# Licenses, sources and duplicates of what we depend on, where cargo-deny is installed.
deny:
	$(if $(DENY_FOUND),cargo deny --locked --workspace check bans licenses sources,@echo 'skipped: cargo-deny is not installed')

# The Python package: built, installed and tested in an environment under target/.
python:
	scripts/native.sh
	scripts/python.sh

# A wheel of it for users, in target/wheels.
wheel:
	scripts/python.sh --wheel

bench:
	scripts/native.sh
	cargo bench --locked -p tff-benches

# Looks for new inputs, FUZZ_SECONDS for each target; they are kept in fuzz/target/corpus. Needs cargo-fuzz.
fuzz:
	$(foreach target,$(FUZZ_TARGETS),mkdir -p fuzz/target/corpus/$(target) && cargo fuzz run --sanitizer none $(target) fuzz/target/corpus/$(target) fuzz/corpus/$(target) -- -max_total_time=$(FUZZ_SECONDS) &&) true

# The native libraries.
native:
	scripts/native.sh

# The Python clients of TFF 0.87 and 0.80 against the worker, and TFF 0.87 in process on the Python package; makes their environment the
# first time. Needs Python 3.11.
conformance:
	scripts/native.sh
	cargo build --locked --release -p tff-cli
	conformance/run.sh $(TARGET)/release/tff-worker
