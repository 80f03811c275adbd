"""Python functions as leaves."""

import collections
import copy
import threading
import time

import federated_language as fl
import numpy as np
import pytest
from sklearn.linear_model import SGDRegressor

import federated_runtime as fr
import federated_runtime.python


pytestmark = pytest.mark.usefixtures("context")


def floats(*shape):
    return fl.TensorType(np.float32, shape)


def at_clients(ty):
    return fl.FederatedType(ty, fl.CLIENTS)


@fr.python.computation(np.int32, returns=np.int32)
def double(x):
    """Twice the number."""
    return x * 2


def test_calls():
    assert double(4) == 8
    assert double.__doc__ == "Twice the number."
    assert double.type_signature == fl.FunctionType(np.int32, np.int32)

    @fr.python.computation(np.int32, np.int32, returns=[("total", np.int32), ("parts", fl.SequenceType(np.int32))])
    def add(x, y):
        return {"total": x + y, "parts": [x, y]}

    assert add(1, 2) == collections.OrderedDict(total=3, parts=[1, 2])
    assert add(y=1, x=2)["parts"] == [2, 1]

    @fr.python.computation(fl.to_type([("a", np.int32), ("b", floats(2))]), returns=np.str_)
    def names(struct):
        assert isinstance(struct["b"], np.ndarray) and not struct["b"].flags.writeable
        return ",".join(struct)

    assert names({"a": 1, "b": [1, 2]}) == b"a,b"

    @fr.python.computation(returns=np.int32)
    def seven():
        return np.int32(7)

    assert seven() == 7


def test_at_clients():
    @fl.federated_computation(at_clients(np.int32))
    def total(values):
        return fl.federated_sum(fl.federated_map(double, values))

    assert total([1, 2, 3]) == 12
    assert total(list(range(1000))) == 999_000


def test_results_are_checked_by_their_type():
    @fr.python.computation(np.int32, returns=[("x", floats(2))])
    def wrong(_):
        return {"x": np.zeros(3, np.float32)}

    with pytest.raises(fr.RunError) as caught:
        wrong(1)
    cause = caught.value.__cause__
    assert isinstance(cause, fr.MismatchError)
    assert (cause.path, cause.expected, cause.found) == ("result of wrong.x", "float32[2]", "float32[3]")


def test_what_a_function_raises_is_the_cause():
    @fr.python.computation(np.int32, returns=np.int32)
    def fails(x):
        if x == 2:
            raise KeyError("two")
        return x

    @fl.federated_computation(at_clients(np.int32))
    def mapped(values):
        return fl.federated_map(fails, values)

    assert mapped([1, 3]) == [1, 3]
    with pytest.raises(fr.RunError, match="client 1") as caught:
        mapped([1, 2, 3])
    assert isinstance(caught.value.__cause__, KeyError)
    assert caught.value.__cause__.__traceback__ is not None


def test_names_from_elsewhere_are_refused():
    message = copy.deepcopy(double.to_proto())
    message.data.content.value = b"double/0123"
    comp = fr.Computation.from_bytes(message.SerializeToString())
    with pytest.raises(fr.RunError, match="`double/0123`, which is not registered in this process"):
        fr.run(comp, 1)
    message.data.content.type_url = "type.googleapis.com/example.Pickled"
    with pytest.raises(fr.RunError, match="example.Pickled"):
        fr.run(fr.Computation.from_bytes(message.SerializeToString()), 1)


def test_files_find_functions_of_this_process(tmp_path):
    path = tmp_path / "double.pb"
    path.write_bytes(double.to_proto().SerializeToString())
    assert fr.run(fr.load(path), 5) == 10


def test_scikit_learn_at_clients_equals_a_plain_loop():
    rng = np.random.default_rng(0)
    truth = np.array([1.0, -2.0, 0.5], np.float32)
    clients = []
    for _ in range(8):
        x = rng.normal(size=(20, 3)).astype(np.float32)
        clients.append({"x": x, "y": x @ truth})
    data_type = fl.to_type(collections.OrderedDict(x=floats(None, 3), y=floats(None)))

    def fit(weights, data):
        model = SGDRegressor(eta0=0.01, learning_rate="constant", shuffle=False, fit_intercept=False, penalty=None)
        model.partial_fit(data["x"], data["y"])
        model.coef_ = np.array(weights)
        model.partial_fit(data["x"], data["y"])
        return model.coef_.astype(np.float32)

    train = fr.python.computation(floats(3), data_type, returns=floats(3))(fit)

    @fl.federated_computation(fl.FederatedType(floats(3), fl.SERVER), at_clients(data_type))
    def next_round(weights, data):
        return fl.federated_mean(fl.federated_map(train, (fl.federated_broadcast(weights), data)))

    found = expected = np.zeros(3, np.float32)
    for _ in range(10):
        found = next_round(found, clients)
        expected = np.mean([fit(expected, data) for data in clients], axis=0)
    np.testing.assert_allclose(found, expected, rtol=1e-4)


def test_deadlines_and_cancelling():
    import asyncio

    released = threading.Event()
    entered = threading.Event()

    @fr.python.computation(np.int32, returns=np.int32)
    def waits(x):
        entered.set()
        released.wait(60)
        return x

    comp = fr.Computation.from_bytes(waits.to_proto().SerializeToString())
    started = time.monotonic()
    with pytest.raises(fr.DeadlineError):
        fr.run(comp, 1, timeout=0.2)
    assert 0.1 < time.monotonic() - started < 20
    assert issubclass(fr.DeadlineError, TimeoutError)
    with pytest.raises(ValueError, match="timeout"):
        fr.run(comp, 1, timeout=-1)

    async def cancel():
        entered.clear()
        task = asyncio.ensure_future(fr.run_async(comp, 1))
        await asyncio.to_thread(entered.wait)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    started = time.monotonic()
    asyncio.run(cancel())
    assert time.monotonic() - started < 20
    released.set()


def test_progress():
    seen = []

    @fl.federated_computation(at_clients(np.int32))
    def mapped(values):
        return fl.federated_map(double, values)

    comp = fr.Computation.from_bytes(mapped.to_proto().SerializeToString())
    fr.run(comp, [1, 2, 3], progress=lambda *event: seen.append(event), executor=fr.Executor(threads=1))
    assert seen == [("federated_map", n_done) for n_done in range(4)]
