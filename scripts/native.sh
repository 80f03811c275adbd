#!/usr/bin/env bash
# Downloads the native libraries that run compiled computations, into .native/ at the root of the repository.
#
# usage: scripts/native.sh [tensorflow] [pjrt] [libclang]        (without arguments: the first two)
#
#   tensorflow   .native/tensorflow/libtensorflow.so, from the wheel tensorflow-cpu 2.14.1
#   pjrt         .native/pjrt/pjrt_c_api_cpu_plugin.so, from the wheel lammps-jax-pjrt-cpu 0.11.2
#   libclang     .native/libclang/libclang.so, from the wheel libclang 18.1.1: for builds with the cargo feature
#                xla, see scripts/xla_extension.sh
#
# The wheels come through pip, from the index it is configured with, and are pinned by version and sha256.
# A complete library is left alone. An interrupted download is taken up again.
#
# A library of your own takes the place of a wheel, on any platform:
#   TENSORFLOW_DIR    a libtensorflow 2.x: its file, or the folder that holds it
#   TFF_PJRT_PLUGIN   a PJRT plugin (a shared library that exports GetPjrtApi)
#   LIBCLANG_PATH     a folder that holds libclang.so
# If one is set, the script skips that library.
#
# exit code: 0 everything is in place, 1 a download or an unpacking failed, 2 usage,
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
    libclang)
      requirement=libclang==18.1.1
      sha256=c533091d8a3bbf7460a00cb6c1a71da93bffe148f172c7d03b1c31fbf8aa2a0b
      platform=manylinux2010_x86_64
      size="25 MB, 64 MB unpacked"
      own=${LIBCLANG_PATH:-} own_name=LIBCLANG_PATH
      members=(libclang-18.1.1.data/platlib/clang/native/libclang.so libclang-18.1.1.dist-info/LICENSE.TXT)
      link='' target='' ;;
  esac
}

# Whether the described library is complete in the folder $1. The stamp is written last, and one rename gives the folder
# its name. So beyond the stamp, only files that somebody removed later must be found.
complete() {
  [ "$(cat "$1/.sha256" 2>/dev/null)" = "$sha256" ] || return 1
  local member
  for member in "${members[@]}"; do [ -s "$1/${member##*/}" ] || return 1; done
  [ -z "$link" ] || [ -s "$1/$link" ]
}

# Ends the script if the pinned wheels cannot be used or downloaded.
check_machine() {
  # The wheels are built against glibc; getconf knows this variable nowhere else.
  [ "$(uname -s)-$(uname -m)" = Linux-x86_64 ] && getconf GNU_LIBC_VERSION >/dev/null 2>&1 || die 3 \
    "the pinned wheels are for Linux on x86-64 with glibc, this is $(uname -s) on $(uname -m)" \
    "set $own_name to a library of your own; then nothing is fetched for it (see $0 --help)"
  command -v python3 >/dev/null || die 3 \
    "python3 is missing: install it with pip (on Debian: apt install python3-pip)," \
    "or set $own_name to a library of your own (see $0 --help)"
  python3 -m pip --version >/dev/null 2>&1 || die 3 \
    "python3 is there, but not its pip: install it (on Debian: apt install python3-pip)," \
    "or set $own_name to a library of your own (see $0 --help)"
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

# Unpacks members of the wheel in the folder $1 into the folder $2: files flat, and a folder, PATH/, as it is.
unpack() {
  mkdir -p "$2"
  python3 - "$1" "$2" "${members[@]}" <<'PYTHON'
import glob, os, shutil, sys, zipfile

source, destination, *members = sys.argv[1:]
with zipfile.ZipFile(glob.glob(os.path.join(source, "*.whl"))[0]) as wheel:
    for member in members:
        is_folder = member.endswith("/")
        start = len(os.path.dirname(member.rstrip("/"))) + 1
        for name in [name for name in wheel.namelist() if name.startswith(member)] if is_folder else [member]:
            if name.endswith("/"):
                continue
            path = os.path.join(destination, name[start:])
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with wheel.open(name) as packed, open(path, "wb") as unpacked:
                shutil.copyfileobj(packed, unpacked, 1 << 20)
PYTHON
}

# Runs that would do the same at a time (say, `make demo` and `make test`) take turns, by the file $1; the second then
# finds the work done.
take_turns() {
  mkdir -p "${1%/*}"
  if command -v flock >/dev/null; then
    exec 9>"$1"
    flock 9
  fi
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
  take_turns "$partial.lock"
  if complete "$native/$library"; then
    say "$library: $requirement is in place"
    return
  fi
  download "$partial/wheel"
  rm -rf "$partial/unpacked"
  say "unpacking $requirement"
  unpack "$partial/wheel" "$partial/unpacked" || die 1 "cannot unpack $requirement into $partial (is the disk full?)"
  [ -z "$link" ] || ln -s "$target" "$partial/unpacked/$link"
  printf '%s\n' "$sha256" >"$partial/unpacked/.sha256"
  rm -rf "${native:?}/$library"
  mv "$partial/unpacked" "$native/$library"
  rm -rf "$partial"
  say "$library: $requirement is in $native/$library"
}

# scripts/xla_extension.sh uses the functions above.
[ "${BASH_SOURCE[0]}" = "$0" ] || return 0

libraries=()
for argument in "$@"; do
  case $argument in
    -h | --help) sed -n '2,/^set /s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    tensorflow | pjrt | libclang) libraries+=("$argument") ;;
    *) die 2 "unknown library '$argument': expected tensorflow, pjrt or libclang (see scripts/native.sh --help)" ;;
  esac
done
[ ${#libraries[@]} -gt 0 ] || libraries=(tensorflow pjrt)
for library in "${libraries[@]}"; do provision "$library"; done
