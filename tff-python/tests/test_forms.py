"""Computations as combiners, in every order in which an engine may call them."""

import itertools
import pickle

import numpy as np
import pytest

import federated_runtime as fr
import federated_runtime.learning
from federated_runtime.forms import Combine
from test_learning import BATCH, NUMBERS, Totals, digits_clients, digits_loss, digits_model

CLIENTS = list(NUMBERS.values())[:4]


def partitions(items):
    """All ways of putting items into groups; groups and items keep their order."""
    for cuts in itertools.product([False, True], repeat=len(items) - 1):
        groups = [[items[0]]]
        for cut, item in zip(cuts, items[1:]):
            groups.append([item]) if cut else groups[-1].append(item)
        yield groups


def test_every_order_of_arrival():
    combine = Combine(Totals.next, 5)
    expected = fr.run(Totals.next, 5, CLIENTS)
    assert combine.report(combine.zero())["state"] == 5
    n_found = 0
    for order in itertools.permutations(CLIENTS):
        for groups in partitions(order):
            partials = [combine.zero() for _ in groups]
            for index, group in enumerate(groups):
                for data in group:
                    partials[index] = combine.accumulate(partials[index], data)
            merged = partials.pop()
            while partials:
                merged = combine.merge(partials.pop(), merged)
            assert combine.report(merged) == expected
            n_found += 1
    assert n_found == 24 * 8


def test_digits_one_client_at_a_time_equal_the_whole(examples):
    process = fr.learning.federated_averaging(
        digits_model, digits_loss, BATCH, client_optimizer=fr.learning.sgd(0.5)
    )
    step = fr.simulation._computation(process.next)
    clients = digits_clients(examples)
    data = [clients.batches(client, step.type.parameter.elements[1][1].member.element) for client in clients]
    state = fr.run(fr.simulation._computation(process.initialize))
    # An engine sends both to other machines, as it pleases.
    combine = pickle.loads(pickle.dumps(Combine(step, state)))
    accumulator = combine.zero()
    for one in data:
        accumulator = pickle.loads(pickle.dumps(combine.accumulate(accumulator, one)))
    np.testing.assert_equal(combine.report(accumulator), fr.run(step, state, data))


def test_what_is_no_combiner():
    with pytest.raises(fr.CompileError, match="values at clients"):
        Combine(fr.Computation.parse("(x:{int32}@CLIENTS -> x)"))
    with pytest.raises(TypeError, match="expected 1 values beside those at clients, found 0"):
        Combine(Totals.next)
    with pytest.raises(fr.MismatchError, match="expected int32"):
        Combine(Totals.next, "no number")
