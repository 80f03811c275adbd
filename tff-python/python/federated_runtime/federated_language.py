"""Contexts for the package ``federated_language``: its programs run here, unchanged.

    import federated_language as fl
    import federated_runtime.federated_language

    federated_runtime.federated_language.set_default_context()

    @fl.federated_computation(fl.FederatedType(np.int32, fl.CLIENTS))
    def total(values):
        return fl.federated_sum(values)

    total([1, 2, 3])   # 6
"""

import federated_language as _fl
from federated_language.common_libs import structure as _structure

from . import _native
from . import _run


class _Programs:
    """The programs of computations, by the object: as long as the computation lives."""

    def __init__(self, executor, n_clients, timeout):
        self._executor = executor or _run.default_executor()
        self._n_clients = n_clients
        self._timeout = timeout
        self._programs = _run.ByIdentity()

    def _prepare(self, comp):
        message = comp.to_proto().SerializeToString(deterministic=True)
        return self._executor.prepare(_native.Computation.from_bytes(message))

    def __call__(self, comp, arg):
        program = self._programs.get(comp, lambda: self._prepare(comp))
        args = () if comp.type_signature.parameter is None else (arg,)
        result = program(*args, n_clients=self._n_clients, timeout=self._timeout, structure=_structure.Struct)
        return _fl.framework.type_to_py_container(result, comp.type_signature.result)


class Context(_fl.framework.SyncContext):
    """Runs computations when they are called.

    Args:
        executor: Where they run; by default `federated_runtime.default_executor()`.
        n_clients: How many clients there are where the arguments do not say.
        timeout: The most seconds that a call may take.
    """

    def __init__(self, executor=None, *, n_clients=None, timeout=None):
        self._call = _Programs(executor, n_clients, timeout)

    def invoke(self, comp, arg):
        return self._call(comp, arg)


class AsyncContext(_fl.framework.AsyncContext):
    """As `Context`; a call gives an awaitable, and several may run at a time."""

    def __init__(self, executor=None, *, n_clients=None, timeout=None):
        self._call = _Programs(executor, n_clients, timeout)

    async def invoke(self, comp, arg):
        import asyncio

        if asyncio.iscoroutine(arg):
            arg = await arg
        return await asyncio.get_running_loop().run_in_executor(None, self._call, comp, arg)


def set_default_context(executor=None, *, n_clients=None, timeout=None):
    """Runs what this thread calls: federated-language has a default context for each thread."""
    _fl.framework.set_default_context(Context(executor, n_clients=n_clients, timeout=timeout))


def set_default_async_context(executor=None, *, n_clients=None, timeout=None):
    """As `set_default_context`, with calls that give awaitables."""
    _fl.framework.set_default_context(AsyncContext(executor, n_clients=n_clients, timeout=timeout))
