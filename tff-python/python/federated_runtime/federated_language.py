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

from . import _contexts


def _runner(executor, n_clients, timeout):
    return _contexts.Runner(
        executor,
        n_clients,
        timeout,
        serialize=lambda comp: comp.to_proto().SerializeToString(deterministic=True),
        structure=_structure.Struct,
        to_container=_fl.framework.type_to_py_container,
    )


class Context(_fl.framework.SyncContext):
    """Runs computations when they are called.

    Args:
        executor: Where they run; by default `federated_runtime.default_executor()`.
        n_clients: How many clients there are where the arguments do not say.
        timeout: The most seconds that a call may take.
    """

    def __init__(self, executor=None, *, n_clients=None, timeout=None):
        self._runner = _runner(executor, n_clients, timeout)

    def invoke(self, comp, arg):
        return self._runner(comp, arg)


class AsyncContext(_fl.framework.AsyncContext):
    """As `Context`; a call gives an awaitable, and several may run at a time."""

    def __init__(self, executor=None, *, n_clients=None, timeout=None):
        self._runner = _runner(executor, n_clients, timeout)

    async def invoke(self, comp, arg):
        return await self._runner.call(comp, arg)


def set_default_context(executor=None, *, n_clients=None, timeout=None):
    """Runs what this thread calls: federated-language has a default context for each thread."""
    _fl.framework.set_default_context(Context(executor, n_clients=n_clients, timeout=timeout))


def set_default_async_context(executor=None, *, n_clients=None, timeout=None):
    """As `set_default_context`, with calls that give awaitables."""
    _fl.framework.set_default_context(AsyncContext(executor, n_clients=n_clients, timeout=timeout))
