"""The commands ``tff`` and ``tff-worker``."""

import os
import signal
import sys

# What starts the worker.
WORKER = (sys.executable, "-m", "federated_runtime", "worker")


def _start(name):
    """The arguments of the process, with the installed native libraries found and signals as for any command."""
    from . import _libraries

    _libraries.export()
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    return [name, *sys.argv[1:]]


def tff():
    """``tff``: inspects, checks, converts, compiles, runs and simulates computations."""
    from . import _native

    code = _native.tff(_start("tff"))
    sys.stdout.flush()
    # Exit handlers of native libraries must not run while their threads do.
    os._exit(code)


def worker():
    """``tff-worker``: serves computations to TFF's clients."""
    from . import _native

    _native.worker(_start("tff-worker"))
