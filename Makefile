# A fresh clone needs only `make demo` and `make test`. README.md says what the machine must have.

# Features that build without any native library. A new one must be added here.
FEATURES := tff-proto/service,tff-types/arbitrary,tff-ir/arbitrary,tff-exec/service
# The feature that links XLA. It is checked and linted without linking.
LINKED := tff-cli/xla
FUZZ_TARGETS := compile computation_decode computation_random computation_text csv example npy tfrecord type_decode type_text xla_binding
FUZZ_SECONDS := 60

TARGET := $(or $(CARGO_TARGET_DIR),target)
CXX_FOUND := $(shell command -v $${CXX:-c++})
NEXTEST_FOUND := $(shell cargo nextest --version 2>/dev/null)
DENY_FOUND := $(shell cargo deny --version 2>/dev/null)

.PHONY: demo test test-xla-extension lint unit doc smoke deny package python wheel bench fuzz native conformance
.NOTPARALLEL:

# Trains and evaluates a model on handwritten digits, which are spread over 20 clients. Draws the metrics to target/digits.svg.
demo:
	scripts/native.sh tensorflow
	cargo build --locked --release -p tff-cli
	$(TARGET)/release/tff simulate examples/digits/digits.toml --plot $(TARGET)/digits.svg

# All checks but the XLA link.
test: lint unit doc smoke deny python

# Runs the suite of the XLA leaf on a linked XLA instead of a plugin. Needs a C++ compiler; downloads 385 MB the first time.
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

# Builds the benches and the fuzz targets, and runs the targets on the committed inputs. libFuzzer needs a C++ compiler.
smoke:
	cargo build --locked -p tff-benches --benches
ifeq ($(CXX_FOUND),)
	@echo 'skipped: the fuzz targets need a C++ compiler (none is found as $${CXX:-c++})'
else
	$(foreach target,$(FUZZ_TARGETS),cargo run --locked --manifest-path fuzz/Cargo.toml --target-dir $(TARGET) --bin $(target) -- -runs=0 fuzz/corpus/$(target) &&) true
endif

# Checks licenses, sources and duplicates of our dependencies, if cargo-deny is installed.
deny:
	$(if $(DENY_FOUND),cargo deny --locked --workspace check bans licenses sources,@echo 'skipped: cargo-deny is not installed')

# Packs the crates as for publishing, into target/package, without compiling them. Drop --no-verify to compile them too (6 minutes).
package:
	cargo package --locked --workspace --no-verify --allow-dirty --quiet

# Builds, installs and tests the Python package in an environment under target/.
python:
	scripts/native.sh
	scripts/python.sh

# Builds a wheel of it for users, in target/wheels.
wheel:
	scripts/python.sh --wheel

bench:
	scripts/native.sh
	cargo bench --locked -p tff-benches

# Looks for new inputs, for FUZZ_SECONDS with each target, and keeps them in fuzz/target/corpus. Needs cargo-fuzz.
fuzz:
	$(foreach target,$(FUZZ_TARGETS),mkdir -p fuzz/target/corpus/$(target) && cargo fuzz run --sanitizer none $(target) fuzz/target/corpus/$(target) fuzz/corpus/$(target) -- -max_total_time=$(FUZZ_SECONDS) &&) true

# Downloads the native libraries.
native:
	scripts/native.sh

# The Python clients of TFF 0.87 and 0.80 against the worker, and TFF 0.87 in process on the Python package; makes their environment the
# first time. Needs Python 3.11.
conformance:
	scripts/native.sh
	cargo build --locked --release -p tff-cli
	conformance/run.sh $(TARGET)/release/tff-worker
