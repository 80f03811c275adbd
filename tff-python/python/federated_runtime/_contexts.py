"""What the contexts of federated-language and of TFF have in common."""

import asyncio

from . import _native
from . import _run


class Runner:
    """Calls computations of a frontend with its arguments.

    Args:
        executor: Where they run; by default `federated_runtime.default_executor()`.
        n_clients: How many clients there are where the arguments do not say.
        timeout: The most seconds that a call may take.
        serialize: Gives the serialized message of a computation.
        structure: Makes the frontend's structs of lists of names and values.
        to_container: Gives a result the containers that its type names.
    """

    def __init__(self, executor, n_clients, timeout, *, serialize, structure, to_container):
        self._executor = executor or _run.default_executor()
        self._options = {"default_n_clients": n_clients, "timeout": timeout, "structure": structure}
        self._serialize = serialize
        self._to_container = to_container
        self._programs = _run.ByIdentity()

    def __call__(self, comp, arg):
        program = self._programs.get(comp, lambda: self._prepare(comp))
        ty = comp.type_signature
        result = program(**self._options) if ty.parameter is None else program(arg, **self._options)
        return self._to_container(result, ty.result)

    def _prepare(self, comp):
        return self._executor.prepare(_native.Computation.from_bytes(self._serialize(comp)))

    async def call(self, comp, arg):
        """The same in a thread, so that the event loop goes on."""
        if asyncio.iscoroutine(arg):
            arg = await arg
        return await asyncio.get_running_loop().run_in_executor(None, self, comp, arg)
