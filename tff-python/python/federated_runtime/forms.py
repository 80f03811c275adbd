"""Computations as combiners: the four functions that engines such as Apache Beam and Spark take.

    combine = federated_runtime.forms.Combine(process.next, state)
    partial = combine.zero()
    for data in clients:                # anywhere, in any portions
        partial = combine.accumulate(partial, data)
    whole = combine.merge(partial, another)
    state, metrics = combine.report(whole)
"""

from . import _native, _run
from ._errors import CompileError
from .simulation import _computation


def _has_clients(ty):
    """Whether values at clients are in values of this type."""
    if ty.kind == "federated":
        return ty.placement == "CLIENTS"
    return any(_has_clients(it) for _, it in ty.elements or ())


class _Split:
    """The parts of a computation, of which each client's can be computed anywhere.

    Attributes:
        elements: The names and types of the arguments; one without a name where the parameter is no struct.
        clients: The position of the one argument that clients have, or ``None`` where none is at clients.
    """

    def __init__(self, comp, insecure_aggregation=False):
        self.comp = comp = _computation(comp)
        ty = comp.type
        parameter, result = ty.parameter, ty.result
        self.is_struct = parameter is not None and parameter.kind == "struct"
        self.elements = (parameter.elements if self.is_struct else [(None, parameter)]) if parameter else []
        at_clients = [index for index, (_, it) in enumerate(self.elements) if _has_clients(it)]
        if len(at_clients) != 1 or self.elements[at_clients[0]][1].kind != "federated" or self.clients_type(at_clients[0]).all_equal:
            raise CompileError(f"expected one argument with a value for each client, found the type {ty}")
        (self.clients,) = at_clients
        if _has_clients(result):
            # What is not at clients cannot depend on what is there but through the aggregation, by the types.
            raise CompileError(f"the result has values at clients, which stay where they were computed: {result}")
        form = comp.to_form("mergeable", insecure_aggregation=insecure_aggregation)
        self.merge, self.after_merge = form.parts["merge"], form.parts["after_merge"]
        self.zero, self.accumulate = form.to_fold()

    def clients_type(self, index=None):
        return self.elements[self.clients if index is None else index][1]

    def argument(self, server, data):
        """The argument, of the values that are not at clients, in order, and those at clients."""
        given = [*server[: self.clients], data, *server[self.clients :]]
        return tuple(given) if self.is_struct else given[0]

    def server_values(self, args):
        """What is given for the arguments that are not at clients, as values."""
        types = [ty for index, (_, ty) in enumerate(self.elements) if index != self.clients]
        if len(args) != len(types):
            raise TypeError(f"expected {len(types)} values beside those at clients, found {len(args)}")
        return [_native.Value(it, ty) for it, ty in zip(args, types)]


class Combine:
    """A computation as ``zero``, ``accumulate``, ``merge`` and ``report``.

    It can be pickled, and so can what the functions give: an engine may send both to other machines. Clients are added
    one at a time, so nothing holds the data of more than one. The result is that of the whole computation, equal in its
    bits where the clients are added in the same order to one accumulator. Sums of floats depend on the order.

    Args:
        comp: Has one argument with a value for each client, and aggregates it once.
        *args: The other arguments, in order, such as the state at the server.
        insecure_aggregation: Whether secure sums are computed as plain ones.

    Raises:
        CompileError: The computation cannot be split so; the message says where and why.
        MismatchError: An argument is not of its type.
    """

    def __init__(self, comp, *args, insecure_aggregation=False):
        self._split = _Split(comp, insecure_aggregation)
        self._args = self._split.server_values(args)
        self._options = insecure_aggregation
        self._programs = {}

    def __reduce__(self):
        return _combine, (self._split.comp, self._args, self._options)

    def _program(self, name):
        found = self._programs.get(name)
        if found is None:
            found = self._programs[name] = _run.default_executor().prepare(getattr(self._split, name))
        return found

    def zero(self):
        """The accumulator of no clients."""
        return self._program("zero")(raw=True)

    def accumulate(self, accumulator, data):
        """The accumulator with one more client, whose data this is."""
        argument = self._split.argument(self._args, [data])
        return self._program("accumulate")(accumulator, argument, n_clients=1, raw=True).member

    def merge(self, left, right):
        """The accumulator of the clients of both."""
        return self._program("merge")(left, right, raw=True)

    def report(self, accumulator, raw=False):
        """The result of the computation. With `raw` it stays a ``Value``, which other calls take as it is."""
        argument = self._split.argument(self._args, [])
        return self._program("after_merge")(argument, accumulator.at_server(), n_clients=0, raw=raw)


def _combine(comp, args, insecure_aggregation):
    return Combine(comp, *args, insecure_aggregation=insecure_aggregation)
