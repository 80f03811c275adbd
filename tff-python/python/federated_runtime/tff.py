"""Contexts for TensorFlow Federated: its programs run here, unchanged, in process.

    import tensorflow_federated as tff
    import federated_runtime.tff

    federated_runtime.tff.set_default_context()

Computations, values and datasets are the same as with TFF's own contexts; TensorFlow is the one that TFF uses.
"""

import tensorflow_federated as _tff
from tensorflow_federated.python.common_libs import structure as _structure
from tensorflow_federated.python.core.impl.computation import computation_impl as _computation_impl
from tensorflow_federated.python.core.impl.types import type_conversions as _type_conversions

from . import _contexts


def _runner(executor, n_clients, timeout):
    return _contexts.Runner(
        executor,
        n_clients,
        timeout,
        serialize=lambda comp: _computation_impl.ConcreteComputation.get_proto(comp).SerializeToString(
            deterministic=True
        ),
        structure=_structure.Struct,
        to_container=_type_conversions.type_to_py_container,
    )


class Context(_tff.framework.SyncContext):
    """Runs computations when they are called.

    Args:
        executor: Where they run; by default `federated_runtime.default_executor()`.
        n_clients: How many clients there are where the arguments do not say.
        timeout: The most seconds that a call may take.
    """

    def __init__(self, executor=None, *, n_clients=0, timeout=None):
        self._runner = _runner(executor, n_clients, timeout)

    def invoke(self, comp, arg):
        return self._runner(comp, arg)


class AsyncContext(_tff.framework.AsyncContext):
    """As `Context`; a call gives an awaitable. It is what ``tff.program.NativeFederatedContext`` takes."""

    def __init__(self, executor=None, *, n_clients=0, timeout=None):
        self._runner = _runner(executor, n_clients, timeout)

    async def invoke(self, comp, arg):
        return await self._runner.call(comp, arg)


def set_default_context(executor=None, *, n_clients=0, timeout=None):
    """Runs what is called; see `Context`."""
    _tff.framework.set_default_context(Context(executor, n_clients=n_clients, timeout=timeout))


def set_default_async_context(executor=None, *, n_clients=0, timeout=None):
    """As `set_default_context`, with calls that give awaitables."""
    _tff.framework.set_default_context(AsyncContext(executor, n_clients=n_clients, timeout=timeout))


def use_worker():
    """Lets TFF's own local contexts, made from now on, start our worker instead of the one that TFF has.

    That is ``tff.backends.native.set_sync_local_cpp_execution_context()`` and its kin.
    """
    import subprocess
    import types

    from tensorflow_federated.python.core.impl.executor_stacks import executor_factory

    from . import _commands

    class Worker(subprocess.Popen):
        """A process of our worker, with the arguments that TFF gives its own."""

        def __init__(self, args, **options):
            super().__init__([*_commands.WORKER, *args[1:]], **options)

    # Only that module starts it, by this name.
    executor_factory.subprocess = types.SimpleNamespace(Popen=Worker)
