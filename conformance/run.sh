#!/usr/bin/env bash
# Runs the suite in this folder: the real Python clients of TFF 0.87.0 and 0.80.0 against a worker binary, and TFF 0.87.0 in process, on
# the Python package.
#
# usage: conformance/run.sh WORKER [ENV]
#
# ENV is where the clients' environment is made, once (about 3 minutes and 2.5 GB; target/conformance by default). The worker takes
# the place of the one that TFF installs, so the clients launch it themselves, as they would any other day.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
[ $# -ge 1 ] && [ $# -le 2 ] || { echo "usage: $0 WORKER [ENV]" >&2; exit 2; }
worker=$(realpath "$1")
[ -x "$worker" ] || { echo "$0: no worker at $1" >&2; exit 2; }
env=${2:-$here/../target/conformance}

pip() { "$env/bin/python" -m pip install --disable-pip-version-check --no-input -q --no-deps --only-binary :all: --require-hashes "$@"; }

[ -e "$env/pyvenv.cfg" ] || "$here/make_env.sh" "$env"
env=$(cd "$env" && pwd)
if [ ! -e "$env/.conformance" ]; then
  pip -r "$here/requirements-test.lock"
  pip --target "$env/tff-0.80" -r "$here/requirements-0.80.lock"
  touch "$env/.conformance"
fi

# Puts the worker where the package in this folder has its own.
install_worker() {
  ln -sfn "$worker" "$1/tensorflow_federated/data/worker_binary"
}
install_worker "$("$env/bin/python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')"
install_worker "$env/tff-0.80"

"$here/../scripts/python.sh" --install "$env/bin/python"

export TF_CPP_MIN_LOG_LEVEL=3 TFF_PJRT_PLUGIN=${TFF_PJRT_PLUGIN:-$here/../.native/pjrt/pjrt_c_api_cpu_plugin.so}
status=0
# The tests in a file, with these variables set.
run() {
  # Workers hold the pipe of whoever starts them open: output goes to a file first.
  local log
  log=$(mktemp)
  env "${@:2}" "$env/bin/python" -m pytest -q -p no:cacheprovider "$here/$1" >"$log" 2>&1 || status=1
  cat "$log"
  rm -f "$log"
}
run test_worker.py
run test_worker.py "PYTHONPATH=$env/tff-0.80"
run test_worker.py TFF_IN_PROCESS=1
run test_in_process.py
exit $status
