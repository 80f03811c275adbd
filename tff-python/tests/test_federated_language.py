"""Programs of federated-language, unchanged."""

import asyncio
import collections
import typing

import federated_language as fl
import numpy as np
import pytest

import federated_runtime as fr
from federated_runtime import federated_language as contexts

INTS = fl.FederatedType(np.int32, fl.CLIENTS)
FLOATS = fl.FederatedType(np.float32, fl.CLIENTS)


@pytest.fixture(autouse=True)
def context():
    contexts.set_default_context(fr.Executor(insecure_aggregation=True))
    yield
    fl.framework.set_no_default_context()


def test_sums_and_means():
    @fl.federated_computation(INTS)
    def total(values):
        return fl.federated_sum(values)

    @fl.federated_computation(FLOATS, FLOATS)
    def mean(values, weights):
        return fl.federated_mean(values, weights)

    @fl.federated_computation(INTS)
    def extremes(values):
        return fl.federated_max(values), fl.federated_min(values)

    assert total([1, 2, 3]) == 6
    assert total([]) == 0
    assert mean([1.0, 2.0], [1.0, 3.0]) == 1.75
    assert extremes([3, 1, 2]) == (3, 1)
    with pytest.raises(fr.MismatchError, match=r"argument\[1\]: expected int32, found the float 2.5"):
        total([1, 2.5])


def test_containers_are_those_of_the_type():
    class Point(typing.NamedTuple):
        x: np.int32
        y: np.float32

    ty = fl.FederatedType(fl.StructWithPythonType([("x", np.int32), ("y", np.float32)], Point), fl.CLIENTS)

    @fl.federated_computation(ty)
    def same(points):
        return points

    @fl.federated_computation(INTS)
    def pairs(values):
        twice = fl.federated_computation(lambda value: collections.OrderedDict(b=value, a=value), np.int32)
        return fl.federated_map(twice, values)

    assert same([Point(1, 2.0)]) == [Point(1, 2.0)] and type(same([Point(1, 2.0)])[0]) is Point
    assert pairs([1, 2]) == [collections.OrderedDict(b=1, a=1), collections.OrderedDict(b=2, a=2)]


def test_placements_literals_and_sequences():
    @fl.federated_computation(fl.FederatedType(np.int32, fl.SERVER), INTS)
    def zipped(server, clients):
        return fl.federated_zip((fl.federated_broadcast(server), clients))

    @fl.federated_computation()
    def literal():
        return fl.federated_value(7, fl.SERVER)

    @fl.federated_computation(fl.SequenceType(np.int32))
    def total(values):
        return fl.sequence_sum(values)

    @fl.federated_computation(fl.FederatedType(fl.SequenceType(np.int32), fl.CLIENTS))
    def totals(values):
        return fl.federated_map(total, values)

    @fl.federated_computation(INTS)
    def secure(values):
        return fl.federated_secure_sum(values, 10)

    assert zipped(1, [2, 3]) == [(1, 2), (1, 3)]
    assert literal() == 7
    assert total(range(5)) == 10
    assert totals([[1, 2], [3]]) == [3, 3]
    assert secure([1, 2]) == 3


def test_async_context():
    contexts.set_default_async_context(fr.Executor())

    @fl.federated_computation(INTS)
    def total(values):
        return fl.federated_sum(values)

    async def main():
        return await asyncio.gather(*(total([number, 1]) for number in range(5)))

    assert asyncio.run(main()) == [1, 2, 3, 4, 5]


def test_program_api():
    contexts.set_default_async_context(fr.Executor())

    @fl.federated_computation(INTS)
    def total(values):
        return fl.federated_sum(values)

    fl.framework.set_default_context(fl.program.NativeFederatedContext(contexts.AsyncContext(fr.Executor())))

    async def main():
        return await fl.program.materialize_value(total([1, 2, 3]))

    assert asyncio.run(main()) == 6


def floats(*shape):
    return np.random.default_rng(0).normal(size=shape).astype(np.float32)


BIG = [floats(10_000) + client for client in range(3)]
STRUCTS = [{"a": 1.0, "b": [1.0, 2.0, 3.0]}, {"a": 3.0, "b": [1.0, 1.0, 1.0]}]


@pytest.mark.parametrize(
    ("name", "args", "n_clients", "expected"),
    [
        ("bcast", (5,), 2, 5),
        ("big", (BIG,), None, BIG[0] + BIG[1] + BIG[2]),
        ("jx", (np.array([1, 2], np.float32), 3.0), None, {"a": np.array([4, 5], np.float32), "y": 15}),
        ("lit", (), None, 7),
        ("mean", ([1.0, 2.0, 6.0],), None, 3.0),
        ("mx", ([3, 1, 2],), None, (3, 1)),
        ("secure", ([1, 2],), None, 3),
        ("seqs", ([[1, 2], [3]],), None, [3, 3]),
        ("seqs64", ([[1, 2], [3]],), None, [3, 3]),
        ("ssum", ([1, 2, 3],), None, 6),
        ("swap", ([1, 2],), None, [{"b": 1, "a": 1}, {"b": 2, "a": 2}]),
        ("total", ([1, 2, 3],), None, 6),
        ("wmean", (STRUCTS, [1.0, 3.0]), None, {"a": 2.5, "b": np.array([1, 1.25, 1.5], np.float32)}),
        ("zipped", (1, [2, 3]), None, [(1, 2), (1, 3)]),
    ],
)
def test_what_it_serialized(programs, name, args, n_clients, expected):
    comp = fr.load(programs / f"{name}.pb")
    found = fr.run(comp, *args, n_clients=n_clients, executor=fr.Executor(insecure_aggregation=True))
    np.testing.assert_equal(found, expected)


@pytest.mark.parametrize(("name", "argument"), [("pyadd", (1, 2)), ("pygo", [1, 2])])
def test_nothing_that_a_file_holds_is_unpickled(programs, name, argument):
    comp = fr.load(programs / f"{name}.pb")
    with pytest.raises(fr.Error):
        fr.run(comp, argument)
