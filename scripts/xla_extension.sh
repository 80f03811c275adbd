#!/usr/bin/env bash
# Runs a command, such as `cargo build -p tff-cli --features xla`, with what the cargo feature xla needs to build; without
# a command, only provisions that.
#
# usage: scripts/xla_extension.sh [--check] [COMMAND [ARGUMENT...]]
#
#   --check   only what checking the types needs (cargo check, clippy, doc): libclang
#
# The crate xla links a folder XLA_EXTENSION_DIR. A folder of your own is used where that variable is set; otherwise one is
# assembled in .native/xla_extension:
#
#   lib/       libtensorflow 2.21, which has XLA in it and so exports nearly all that the crate calls, from the wheel
#              tensorflow-cpu 2.21.0; a small library with the rest; and libxla_extension.so, which stands for the three
#   include/   the headers of the same wheel, and LLVM's from the wheel xtc-llvm-dev 22.1.8.2
#
# It takes a C++ compiler, a download of 385 MB and 1 GB of disk. The wheels come through pip, from the index it is
# configured with, and are pinned by version and sha256. What is there already is left alone.
#
# Beside XLA_EXTENSION_DIR, the command finds libclang (LIBCLANG_PATH, else from scripts/native.sh libclang), and through
# LD_LIBRARY_PATH the libraries of the folder: so what was built runs by this script too, or with an rpath of its own.
# Where the folder has a libtensorflow.so, as the assembled one has, TENSORFLOW_DIR is set to it as well: a process cannot
# hold two builds of TensorFlow.
#
# exit code: that of the command; without one, or before it: 0 all is in place, 1 a download or a build failed, 2 usage,
#            3 this machine cannot be provisioned (platform, C++ compiler, python3 or pip missing)
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/native.sh"

extension=$native/xla_extension
# Changes with what is assembled.
recipe=1

# The output is the command's.
say() { printf 'xla_extension: %s\n' "$*" >&2; }
die() { local code=$1; shift; printf 'xla_extension: %s\n' "$@" >&2; exit "$code"; }

# Names a wheel and the folders in it that make up include/, with the libraries.
describe_part() {
  own='' own_name=XLA_EXTENSION_DIR link='' target=''
  case $1 in
    tensorflow)
      requirement=tensorflow-cpu==2.21.0
      sha256=2b847d217b02ee7731ed91431daf3250daa0196c3c94614d23be27232e6e5b6c
      platform=manylinux_2_27_x86_64
      size="274 MB"
      local include=tensorflow/include external=tensorflow/include/external
      members=(tensorflow/libtensorflow_cc.so.2 tensorflow/libtensorflow_framework.so.2
        tensorflow/THIRD_PARTY_NOTICES.txt "$include"/{Eigen,absl,google,ml_dtypes,tsl,unsupported,xla}/
        "$external"/llvm-project/mlir/include/mlir/ "$external"/highwayhash/highwayhash/
        "$external"/farmhash_archive/src/farmhash.h
        "$external"/com_github_grpc_grpc/include/{grpc,grpcpp}/) ;;
    llvm)
      requirement=xtc-llvm-dev==22.1.8.2
      sha256=72d4272b711c2358f0941080915dc45f2ba30c73564cc43d11c7cefd32e1e523
      platform=manylinux_2_28_x86_64
      size="88 MB"
      members=(llvm/include/llvm/ llvm/include/llvm-c/) ;;
  esac
}

complete_extension() {
  [ "$(cat "$extension/.recipe" 2>/dev/null)" = "$recipe" ] || return 1
  local file
  for file in lib/libtensorflow_cc.so.2 lib/libtensorflow_framework.so.2 lib/libxla_shim.so lib/libxla_extension.so \
    include/xla/shape_util.h include/llvm/Support/raw_ostream.h; do
    [ -s "$extension/$file" ] || return 1
  done
}

check_compiler() {
  command -v "${CXX:-c++}" >/dev/null || die 3 \
    "the crate xla holds C++, and there is no C++ compiler (looked for ${CXX:-c++}): install one (on Debian: apt install g++)"
}

# What the crate xla calls and libtensorflow does not export: the registry of PJRT plugins, which only
# `PjRtClient::plugin` uses. Linked in the folder $1.
build_shim() {
  cat >"$1/shim.cc" <<'CC'
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

struct PJRT_Api;

namespace pjrt {
static absl::Status NoRegistry() { return absl::UnimplementedError("this XLA has no registry of plugins"); }
absl::StatusOr<const PJRT_Api*> PjrtApi(absl::string_view) { return NoRegistry(); }
absl::StatusOr<const PJRT_Api*> LoadPjrtPlugin(absl::string_view, absl::string_view) { return NoRegistry(); }
absl::StatusOr<bool> IsPjrtPluginInitialized(absl::string_view) { return NoRegistry(); }
absl::Status InitializePjrtPlugin(absl::string_view) { return NoRegistry(); }
}  // namespace pjrt
CC
  "${CXX:-c++}" -std=c++17 -O1 -fPIC -w -DNDEBUG -shared -I"$1/include" "$1/shim.cc" -o "$1/lib/libxla_shim.so" \
    -Wl,-soname,libxla_shim.so "$1/lib/libtensorflow_cc.so.2" "$1/lib/libtensorflow_framework.so.2" \
    -Wl,-rpath,'$ORIGIN' || return
  rm "$1/shim.cc"
}

assemble() {
  if complete_extension; then
    say "$extension is in place"
    return
  fi
  own_name=XLA_EXTENSION_DIR
  check_machine
  local partial=$native/.partial/xla_extension part
  take_turns "$partial.lock"
  if complete_extension; then
    say "$extension is in place"
    return
  fi
  local folder=$partial/folder
  rm -rf "$folder"
  for part in tensorflow llvm; do
    describe_part "$part"
    download "$partial/$part"
    say "unpacking $requirement"
    unpack "$partial/$part" "$folder/include" || die 1 "cannot unpack $requirement into $partial (is the disk full?)"
  done
  mkdir "$folder/lib"
  mv "$folder/include"/libtensorflow_* "$folder/lib/"
  mv "$folder/include/THIRD_PARTY_NOTICES.txt" "$folder/"
  # LLVM's classes are laid out as in the library, which is built without these checks.
  sed -i 's/^\(#define LLVM_ENABLE_ABI_BREAKING_CHECKS\) 1$/\1 0/' "$folder/include/llvm/Config/abi-breaking.h"
  say "building libxla_shim.so"
  build_shim "$folder" || die 1 "the C++ compiler cannot build libxla_shim.so (its message is above)"
  # A script for the linker.
  echo 'INPUT(libxla_shim.so libtensorflow_cc.so.2 libtensorflow_framework.so.2)' >"$folder/lib/libxla_extension.so"
  # As TENSORFLOW_DIR has it.
  ln -s libtensorflow_cc.so.2 "$folder/lib/libtensorflow.so"
  echo "$recipe" >"$folder/.recipe"
  rm -rf "$extension"
  mv "$folder" "$extension"
  rm -rf "$partial"
  say "assembled $extension"
}

# The folder to link: the user's own, or the assembled one.
provision_extension() {
  if [ -n "${XLA_EXTENSION_DIR:-}" ]; then
    [ -d "$XLA_EXTENSION_DIR/include" ] && [ -e "$XLA_EXTENSION_DIR/lib/libxla_extension.so" ] ||
      die 2 "XLA_EXTENSION_DIR is $XLA_EXTENSION_DIR, which has no include/ and lib/libxla_extension.so"
    say "XLA_EXTENSION_DIR is set to $XLA_EXTENSION_DIR"
    return
  fi
  assemble
  export XLA_EXTENSION_DIR=$extension
}

check=''
case ${1:-} in
  -h | --help) sed -n '2,/^set /s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
  --check) check=1; shift ;;
  -*) die 2 "unknown option '$1' (see scripts/xla_extension.sh --help)" ;;
esac
provision libclang
export LIBCLANG_PATH=${LIBCLANG_PATH:-$native/libclang}
# That libclang has no headers of its own; the C compiler's serve for the few that the crate's C interface includes.
export BINDGEN_EXTRA_CLANG_ARGS=${BINDGEN_EXTRA_CLANG_ARGS:--I"$("${CC:-cc}" -print-file-name=include)"}
if [ -n "$check" ]; then
  # The crate's build script then leaves out the C++. It runs again for another XLA_EXTENSION_DIR, but not for this.
  unset XLA_EXTENSION_DIR
  export DOCS_RS=1
else
  check_compiler
  provision_extension
  [ ! -e "$XLA_EXTENSION_DIR/lib/libtensorflow.so" ] || export TENSORFLOW_DIR=$XLA_EXTENSION_DIR/lib
  export LD_LIBRARY_PATH=$XLA_EXTENSION_DIR/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
fi
# Not with the lock.
[ $# -eq 0 ] || exec "$@" 9>&-
