"""Runs on an executor that all share."""

import threading
import weakref

from . import _native

_lock = threading.Lock()
_default = None


class ByIdentity:
    """Something for each of some objects, kept as long as the object lives. Equal objects are different ones."""

    def __init__(self):
        self._kept = {}

    def get(self, key, make):
        found = self._kept.get(id(key))
        if found is None:
            identity, kept = id(key), self._kept
            gone = weakref.ref(key, lambda _: kept.pop(identity, None))
            found = kept[identity] = (make(), gone)
        return found[0]


_programs = ByIdentity()


def default_executor():
    """The executor that is used where none is given: all cores, and the native libraries that are installed."""
    global _default
    with _lock:
        if _default is None:
            _default = _native.Executor()
        return _default


def prepare(comp, executor=None):
    """The program of a computation; the same for the same computation on the default executor."""
    if isinstance(comp, _native.Program):
        return comp
    if executor is not None:
        return executor.prepare(comp)
    return _programs.get(comp, lambda: default_executor().prepare(comp))


def run(comp, *args, executor=None, n_clients=None, timeout=None, progress=None):
    """Runs a computation and waits for its result.

    Args:
        comp: A `Computation`, or a `Program` of one.
        *args: The argument; several are the elements of a struct.
        executor: Where it runs; by default `default_executor()`.
        n_clients: How many clients there are; needed where the argument does not say.
        timeout: The most seconds that it may take.
        progress: Called with the name of an intrinsic and the number of clients for which it is done, when it starts
            and whenever a client is done, on any thread.

    Raises:
        MismatchError: The argument is not of the type of the parameter.
        DeadlineError: The run took longer than `timeout`.
        Error: Whatever else fails.
    """
    return prepare(comp, executor)(*args, n_clients=n_clients, timeout=timeout, progress=progress)


async def run_async(comp, *args, executor=None, n_clients=None, timeout=None, progress=None):
    """Runs a computation in a thread, so that the event loop goes on; as `run` in all else.

    Cancelling the task ends the run.
    """
    # Imported late: it takes as long as all the rest.
    import asyncio
    import functools

    cancel = _native.Cancel()
    options = {"n_clients": n_clients, "timeout": timeout, "progress": progress, "cancel": cancel}
    call = functools.partial(prepare(comp, executor), *args, **options)
    try:
        return await asyncio.get_running_loop().run_in_executor(None, call)
    except asyncio.CancelledError:
        cancel.cancel()
        raise
