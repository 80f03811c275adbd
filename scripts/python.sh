#!/usr/bin/env bash
# Builds the Python package and tests it, in an environment of its own under target/.
#
# usage: scripts/python.sh [PYTEST_ARGUMENT...]     builds, installs and tests
#        scripts/python.sh --wheel [TARGET]         builds a wheel for users into target/wheels/
#        scripts/python.sh --source                builds the source package, into the same folder
#        scripts/python.sh --install PYTHON        builds and installs it, alone, for the interpreter PYTHON
#        scripts/python.sh --bench [PYTHON]        measures the wheel of --wheel, in the tests' environment or for PYTHON
#        scripts/python.sh --lock                   pins tff-python/requirements.in anew
#
# PYTHON names the interpreter, 3.11 or newer; python3 by default. Packages come through pip, from the index it is
# configured with, pinned by version and sha256.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
package=$root/tff-python

die() { printf 'python: %s\n' "$@" >&2; exit 1; }

# Makes the environment $1 with what the requirements file $2 pins; only again when that changes.
environment() {
  local python=${PYTHON:-python3} stamp
  "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null ||
    die "expected Python 3.11 or newer as $python; PYTHON names another"
  stamp=$("$python" -c 'import sys; print(sys.version)' | cat - "$2" | cksum)
  [ "$(cat "$1/.stamp" 2>/dev/null)" != "$stamp" ] || return 0
  rm -rf "$1"
  "$python" -m venv "$1" || die "$python cannot make an environment (on Debian: apt install python3-venv)"
  "$1/bin/python" -m pip install --disable-pip-version-check --no-input -q --require-hashes --only-binary :all: -r "$2"
  printf '%s' "$stamp" >"$1/.stamp"
}

case ${1:-} in
  --lock)
    "${PYTHON:-python3}" -m venv "$target/python/lock"
    "$target/python/lock/bin/python" -m pip install --disable-pip-version-check -q uv
    for name in requirements wheel; do
      "$target/python/lock/bin/uv" pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
        --no-header --no-annotate "$package/$name.in" -o "$package/$name.txt"
    done
    ;;
  --wheel)
    environment "$target/python/wheel" "$package/wheel.txt"
    export CARGO_TARGET_DIR=$target
    # Zig links against the C library of old systems; macOS has one of its own.
    linux=(--zig --compatibility manylinux2014)
    case ${2:-$(uname -s)} in *apple* | Darwin) linux=() ;; esac
    PATH=$target/python/wheel/bin:$PATH maturin build -m "$package/Cargo.toml" --release --locked \
      ${linux[@]+"${linux[@]}"} --out "$target/wheels" ${2:+--target "$2"}
    ;;
  --source)
    environment "$target/python/wheel" "$package/wheel.txt"
    "$target/python/wheel/bin/maturin" sdist -m "$package/Cargo.toml" --out "$target/wheels"
    ;;
  --bench)
    version=$("${PYTHON:-python3}" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    python=${2:-$target/python/$version/bin/python}
    "$python" -m pip install --disable-pip-version-check -q --no-deps --force-reinstall "$target"/wheels/federated_runtime-*.whl
    export TFF_PJRT_PLUGIN=${TFF_PJRT_PLUGIN:-$root/.native/pjrt/pjrt_c_api_cpu_plugin.so}
    "$python" "$package/bench.py"
    ;;
  --install)
    environment "$target/python/wheel" "$package/wheel.txt"
    CARGO_TARGET_DIR=$target "$target/python/wheel/bin/maturin" build -q -m "$package/Cargo.toml" --profile dev --locked \
      --compatibility off --interpreter "$2" --out "$target/python/wheels-install"
    "$2" -m pip install --disable-pip-version-check -q --no-deps --force-reinstall \
      "$target/python/wheels-install"/federated_runtime-*.whl
    ;;
  *)
    version=$("${PYTHON:-python3}" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    env=$target/python/$version
    environment "$env" "$package/requirements.txt"
    # With the profile and the folder of `cargo test`, so that little is built anew.
    CARGO_TARGET_DIR=$target "$env/bin/maturin" build -q -m "$package/Cargo.toml" --profile dev --locked \
      --interpreter "$env/bin/python" --out "$target/python/wheels-$version"
    "$env/bin/python" -m pip install --disable-pip-version-check -q --no-deps --force-reinstall \
      "$target/python/wheels-$version"/federated_runtime-*.whl
    # What computations in TensorFlow and XLA run on; scripts/native.sh provides it.
    export TENSORFLOW_DIR=${TENSORFLOW_DIR:-$root/.native/tensorflow}
    export TFF_PJRT_PLUGIN=${TFF_PJRT_PLUGIN:-$root/.native/pjrt/pjrt_c_api_cpu_plugin.so}
    "$env/bin/python" -m pytest -q -p no:cacheprovider "$package/tests" "$@"
    ;;
esac
