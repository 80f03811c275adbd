"""Rounds on a Ray of this machine, with two CPUs."""

import os
import pathlib
import pickle
import signal
import subprocess
import sys
import time

import federated_language as fl
import numpy as np
import pytest
import ray

import federated_runtime as fr
import federated_runtime.learning
import federated_runtime.python
import loaders
from conftest import ROOT
from federated_runtime.ray import GROUP, Ray
from federated_runtime.simulation import _computation, _read_client
from test_learning import BATCH, NUMBERS, Totals, digits_clients, digits_loss, digits_model

TOTAL = fr.Computation.parse(
    "(x:{int32*}@CLIENTS -> %federated_sum(%federated_map(<(rows:int32* -> %sequence_sum(rows)),x>)))"
)


@pytest.fixture(scope="module", autouse=True)
def cluster():
    with pytest.MonkeyPatch.context() as patch:
        # Its workers import what loads data.
        patch.setenv("PYTHONPATH", str(pathlib.Path(__file__).parent))
        ray.init(num_cpus=2, log_to_driver=False, include_dashboard=False)
        yield
        ray.shutdown()


def ranges(n, n_parts):
    """The parts that `tff run --sub-rounds` makes, said in another way: clients dealt out, then put in order."""
    sizes = [len(range(index, n, n_parts)) for index in range(n_parts)]
    ends = np.cumsum(sizes)
    return [(end - size, end) for size, end in zip(sizes, ends) if size]


class SubRounds:
    """The sub-rounds of a form in this process, each of all its clients at once."""

    def __init__(self, parts):
        self._n_parts = parts

    def prepare(self, comp, clients, executor):
        self._clients = clients
        self._programs = {name: executor.prepare(it) for name, it in comp.to_form("mergeable").parts.items()}
        self._ty = comp.type.parameter.elements[1][1].member
        return SubRoundsOfOne(self._programs, clients, self._ty, self._n_parts)


class SubRoundsOfOne:
    def __init__(self, programs, clients, ty, n_parts):
        self._programs, self._clients, self._ty, self._n_parts = programs, clients, ty, n_parts

    def call(self, ids, args, name):
        data = [_read_client(self._clients, client, self._ty) for client in ids]
        merged = None
        for start, end in ranges(len(ids), self._n_parts):
            part = self._programs["up_to_merge"](*args, data[start:end], n_clients=end - start, raw=True).member
            merged = part if merged is None else self._programs["merge"](merged, part, raw=True)
        argument = (*args, data)
        return self._programs["after_merge"](argument, merged.at_server(), n_clients=len(ids), raw=True), None


def bits(history):
    """All that a simulation gave, but for seconds."""
    rounds = [(it["clients"], it["metrics"]) for it in history]
    return pickle.dumps((rounds, history.evaluation, history.state))


@pytest.fixture(scope="module")
def digits():
    process = fr.learning.federated_averaging(
        digits_model, digits_loss, BATCH, client_optimizer=fr.learning.sgd(0.5)
    )
    return process, digits_clients(ROOT / "examples")


@pytest.mark.parametrize("parts", [1, 3, 4, 20])
def test_digits_equal_sub_rounds_in_process(digits, parts):
    process, clients = digits
    found = fr.simulate(process, clients, 3, progress=False, engine=Ray(parts))
    expected = fr.simulate(process, clients, 3, progress=False, engine=SubRounds(parts))
    assert bits(found) == bits(expected)
    assert [len(it["parts"]) for it in found] == [parts] * 3
    assert all(seconds > 0 for it in found for seconds in it["parts"])


def test_threads_change_no_bit(digits):
    process, clients = digits
    found = fr.simulate(process, clients, 2, 7, progress=False, engine=Ray(3, cpus=2))
    expected = fr.simulate(process, clients, 2, 7, progress=False, engine=SubRounds(3))
    assert bits(found) == bits(expected)


def test_many_parts_are_merged_in_groups():
    mean = fr.Computation.parse("(x:{float32}@CLIENTS -> %federated_mean(x))")
    clients = {index: np.float32(1 / (index + 1)) for index in range(2 * GROUP + 5)}
    done = []
    found = Ray(len(clients)).run(mean, clients, progress=lambda *it: done.append(it))
    assert found == pytest.approx(np.mean(list(clients.values())), rel=1e-5)
    assert found == Ray(len(clients)).run(mean, clients)
    assert done == [(index + 1, index + 1) for index in range(len(clients))]


def test_a_client_for_each_part_and_none():
    assert Ray(9).run(TOTAL, NUMBERS) == sum(map(sum, NUMBERS.values()))
    assert Ray(3).run(TOTAL, {}) == 0


def test_clients_that_are_made_when_asked_for():
    assert Ray(4).run(TOTAL, loaders.Numbers(50)) == 11 * 49 * 25


def test_a_worker_that_is_killed(tmp_path):
    loads = {name: loaders.die_once(str(tmp_path / "died"), numbers) for name, numbers in NUMBERS.items()}
    found = fr.simulate(Totals, loads, 3, 4, progress=False, engine=Ray(3))
    assert (tmp_path / "died").exists()
    assert bits(found) == bits(fr.simulate(Totals, NUMBERS, 3, 4, progress=False, engine=SubRounds(3)))


def test_a_part_that_is_always_lost():
    with pytest.raises(fr.RunError, match="part 2 of 2: lost more often than it is retried") as caught:
        Ray(2, retries=1).run(TOTAL, {"a": [1], "b": loaders.die_always})
    assert caught.value.path == "part 2 of 2"


def test_what_loads_data_raises_once(tmp_path):
    asked = tmp_path / "asked"
    with pytest.raises(LookupError, match="the disk is gone") as caught:
        Ray(2).run(TOTAL, {"a": [1], "b": loaders.fail(str(asked))})
    assert caught.value.__notes__ == ["while the data of client 'b' was read"]
    assert asked.read_text() == "asked\n"
    with pytest.raises(fr.MismatchError, match="expected int32, found") as caught:
        Ray(2).run(TOTAL, {"a": [1], "b": ["no number"]})
    assert caught.value.path == "value[0]"


def test_a_client_that_fails(context):
    @federated_runtime.python.computation(fl.TensorType(np.int32), returns=np.int32)
    def positive(x):
        if x <= 0:
            raise ValueError(f"{x} is not positive")
        return x

    @fl.federated_computation(fl.FederatedType(np.int32, fl.CLIENTS))
    def total(x):
        return fl.federated_sum(fl.federated_map(positive, x))

    assert Ray(2).run(total, {"a": 1, "b": 2, "c": 3}) == 6
    for cpus in (1, 2):
        with pytest.raises(fr.RunError, match="client 'c'.*-3 is not positive") as caught:
            Ray(1, cpus=cpus).run(total, {"a": 1, "b": 2, "c": -3})
        assert "client 'c'" in caught.value.path


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("(x:{int32}@CLIENTS -> x)", "the result has values at clients"),
        ("(x:int32@SERVER -> x)", "expected one argument with a value for each client"),
        ("(x:<{int32}@CLIENTS,{int32}@CLIENTS> -> %federated_sum(x[0]))", "expected one argument"),
        ("(x:{int32}@CLIENTS -> %federated_value_at_server(lit int32 1))", "nothing that clients have is aggregated"),
        (
            """(x:{int32}@CLIENTS -> (let m=%federated_broadcast(%federated_sum(x)),
              y=%federated_map(<(it:<int32,int32> -> %generic_plus(it)),%federated_zip_at_clients(<x,m>)>)
              in %federated_sum(y)))""",
            "aggregat",
        ),
    ],
)
def test_what_parts_cannot_express(text, reason):
    with pytest.raises(fr.CompileError, match=reason):
        Ray(2).run(fr.Computation.parse(text), {"a": 1})


def processes_of(session):
    """The processes of a Ray session that are alive."""
    found = []
    for folder in pathlib.Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                command = (folder / "cmdline").read_bytes()
                state = (folder / "stat").read_text().rsplit(")", 1)[1].split()[0]
                environment = (folder / "environ").read_bytes()
            except OSError:
                continue
            if state != "Z" and session.encode() in command + environment:
                found.append(folder.name)
    return found


DRIVER = """
import sys
import loaders, ray
import federated_runtime as fr
from federated_runtime.ray import Ray
ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
print(ray._private.worker.global_worker.node.session_name, flush=True)
total = fr.Computation.parse("(x:{int32*}@CLIENTS -> %federated_sum(%federated_map(<(it:int32* -> %sequence_sum(it)),x>)))")
Ray(2).run(total, {"a": loaders.hang(sys.argv[1]), "b": [1]})
"""


def test_a_driver_that_is_interrupted_leaves_no_process(tmp_path):
    started = tmp_path / "started"
    environment = {**os.environ, "PYTHONPATH": str(pathlib.Path(__file__).parent), "RAY_ADDRESS": ""}
    driver = subprocess.Popen(
        [sys.executable, "-c", DRIVER, started], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, env=environment, start_new_session=True
    )
    session = driver.stdout.readline().strip()
    deadline = time.monotonic() + 60
    while not (started.exists() and started.read_text()):
        assert time.monotonic() < deadline and driver.poll() is None
    assert processes_of(session)
    driver.send_signal(signal.SIGINT)
    _, stderr = driver.communicate(timeout=30)
    assert driver.returncode != 0 and "KeyboardInterrupt" in stderr
    deadline = time.monotonic() + 5
    while processes_of(session):
        assert time.monotonic() < deadline, processes_of(session)
    assert not pathlib.Path("/proc", started.read_text()).exists()
