"""Federated averaging and simulations."""

import collections
import json

import federated_language as fl
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pandas as pd
import pytest
from sklearn.linear_model import SGDRegressor

import federated_runtime as fr
import federated_runtime.learning


def digits_model():
    rng = np.random.default_rng(0)
    return {
        "hidden": jnp.asarray(rng.normal(size=(64, 32)) * 0.125, jnp.float32),
        "hidden_bias": jnp.zeros(32, jnp.float32),
        "output": jnp.asarray(rng.normal(size=(32, 10)) * 0.17, jnp.float32),
        "output_bias": jnp.zeros(10, jnp.float32),
    }


def digits_loss(model, batch):
    hidden = jax.nn.relu(batch["pixels"] / 16 @ model["hidden"] + model["hidden_bias"])
    logits = hidden @ model["output"] + model["output_bias"]
    loss = optax.softmax_cross_entropy_with_integer_labels(logits, batch["label"]).mean()
    return loss, {"accuracy": jnp.mean(jnp.argmax(logits, 1) == batch["label"])}


def digits_clients(examples):
    table = pd.read_csv(examples / "digits" / "digits.csv")
    columns = {"pixels": [f"p{index}" for index in range(64)], "label": "label"}
    return fr.divide(table, 20, batch_size=10, drop_remainder=True, columns=columns)


BATCH = {"pixels": np.zeros((10, 64), np.float32), "label": np.zeros(10, np.int32)}


def test_digits_in_jax_equal_the_history_of_the_example(examples):
    process = fr.learning.federated_averaging(
        digits_model, digits_loss, BATCH, client_optimizer=fr.learning.sgd(0.5)
    )
    history = fr.simulate(process, digits_clients(examples), rounds=20, progress=False)
    expected = json.loads((examples / "digits-jax" / "history.json").read_text())
    for found, metrics in zip(history, expected["rounds"], strict=True):
        assert found["metrics"] == pytest.approx(metrics, rel=1e-4)
    assert history.evaluation == pytest.approx(expected["evaluation"], rel=1e-4)
    assert set(history.model) == set(digits_model())


def test_saved_computations_of_the_example(examples):
    class Process:
        initialize = examples / "digits-jax" / "initialize.pb"
        next = str(examples / "digits-jax" / "next.pb")

    history = fr.simulate(Process, digits_clients(examples), rounds=3, progress=False)
    expected = json.loads((examples / "digits-jax" / "history.json").read_text())["rounds"]
    for found, metrics in zip(history, expected[:3], strict=True):
        assert found["metrics"] == pytest.approx(metrics, rel=1e-4)
    assert history.evaluation is None and history.model is None


def line_loss(model, batch):
    x, y = batch
    return jnp.mean((x @ model["w"] + model["b"] - y) ** 2)


LINE = {"w": np.array([0.5, -0.5], np.float32), "b": np.float32(0)}


def line_clients(n_batches):
    rng = np.random.default_rng(1)
    return {
        name: [
            (x, (x @ np.array([1, 2], np.float32) + 1).astype(np.float32))
            for x in rng.normal(size=(count, 4, 2)).astype(np.float32)
        ]
        for name, count in n_batches.items()
    }


LINE_BATCH = (np.zeros((4, 2), np.float32), np.zeros(4, np.float32))


def plain_averaging(clients, rounds, client, server):
    """The same in a loop, with JAX and optax alone."""
    model, metrics = jax.tree_util.tree_map(jnp.asarray, LINE), []
    server_state = server.init(model) if server else None
    for _ in range(rounds):
        models, weights, loss = [], [], 0.0
        for batches in clients.values():
            local, state = model, client.init(model)
            for batch in batches:
                value, gradients = jax.value_and_grad(line_loss)(local, batch)
                updates, state = client.update(gradients, state, local)
                local = optax.apply_updates(local, updates)
                loss += 4 * float(value)
            models.append(local)
            weights.append(4.0 * len(batches))
        n = sum(weights)
        mean = jax.tree_util.tree_map(lambda *its: sum(w * it for w, it in zip(weights, its)) / n, *models)
        if server:
            direction = jax.tree_util.tree_map(jnp.subtract, model, mean)
            updates, server_state = server.update(direction, server_state, model)
            mean = optax.apply_updates(model, updates)
        model = mean
        metrics.append({"loss": loss / n, "num_examples": n})
    return model, metrics


@pytest.mark.parametrize(
    ("client", "server", "plain_client", "plain_server"),
    [
        (fr.learning.sgd(0.1), None, optax.sgd(0.1), None),
        (optax.adam(0.1), optax.sgd(1.0, momentum=0.9), optax.adam(0.1), optax.sgd(1.0, momentum=0.9)),
        (fr.learning.adam(0.1), fr.learning.sgd(0.5, 0.9), optax.adam(0.1), optax.sgd(0.5, momentum=0.9)),
        (fr.learning.sgd(0.1, 0.5), fr.learning.adam(0.1), optax.sgd(0.1, momentum=0.5), optax.adam(0.1)),
    ],
)
def test_optimizers_equal_a_plain_loop(client, server, plain_client, plain_server):
    clients = line_clients({"a": 1, "b": 3, "none": 0})
    process = fr.learning.federated_averaging(
        LINE, line_loss, LINE_BATCH, client_optimizer=client, server_optimizer=server
    )
    history = fr.simulate(process, clients, rounds=4, progress=False)
    model, metrics = plain_averaging(clients, 4, plain_client, plain_server)
    for found, expected in zip(history, metrics, strict=True):
        assert found["metrics"] == pytest.approx(expected, rel=1e-4)
    for name in LINE:
        np.testing.assert_allclose(history.model[name], model[name], rtol=1e-4, atol=1e-5)


def test_without_data_the_model_stays():
    process = fr.learning.federated_averaging(LINE, line_loss, LINE_BATCH)
    history = fr.simulate(process, line_clients({"a": 0, "b": 0}), rounds=2, progress=False)
    np.testing.assert_array_equal(history.model["w"], LINE["w"])
    assert history[0]["metrics"] == {"loss": 0.0, "num_examples": 0.0}


def test_what_is_no_loss():
    with pytest.raises(TypeError, match=r"metric 'loss', found float32\[4\]"):
        fr.learning.federated_averaging(LINE, lambda model, batch: batch[1], LINE_BATCH)
    with pytest.raises(TypeError, match="same first dimension"):
        fr.learning.federated_averaging(LINE, line_loss, (np.zeros((4, 2), np.float32), np.zeros(3, np.float32)))


def test_scikit_learn_equals_a_plain_loop():
    rng = np.random.default_rng(0)
    clients = {}
    for name, count in (("a", 10), ("b", 30)):
        x = rng.normal(size=(count, 3)).astype(np.float32)
        clients[name] = {"x": x, "y": x @ np.array([1, -2, 0.5], np.float32)}

    def train(model, data):
        found = SGDRegressor(eta0=0.01, learning_rate="constant", shuffle=False, penalty=None, max_iter=1, tol=None)
        # It writes to what it starts from.
        start = {f"{name}_init": np.array(it) for name, it in model.items()}
        found.fit(data["x"], data["y"], **start)
        moved = {"coef": found.coef_.astype(np.float32), "intercept": found.intercept_.astype(np.float32)}
        return moved, len(data["y"]), {"loss": np.mean((found.predict(data["x"]) - data["y"]) ** 2)}

    def evaluate(model, data):
        error = data["x"] @ model["coef"] + model["intercept"] - data["y"]
        return len(error), {"loss": np.mean(error**2)}

    initial = {"coef": np.zeros(3, np.float32), "intercept": np.zeros(1, np.float32)}
    data = collections.OrderedDict(x=fl.TensorType(np.float32, [None, 3]), y=fl.TensorType(np.float32, [None]))
    process = fr.learning.federated_averaging_in_python(initial, train, data, evaluate=evaluate, metrics=["loss"])
    history = fr.simulate(process, clients, rounds=5, progress=False)

    model = initial
    for found in history:
        results = [train(model, data) for data in clients.values()]
        weights = [weight for _, weight, _ in results]
        model = {name: np.average([it[0][name] for it in results], axis=0, weights=weights) for name in initial}
        loss = np.average([it[2]["loss"] for it in results], weights=weights)
        assert found["metrics"] == pytest.approx({"loss": loss}, rel=1e-4)
    np.testing.assert_allclose(history.model["coef"], model["coef"], rtol=1e-4)
    assert history.evaluation["loss"] < history[0]["metrics"]["loss"]
    with pytest.raises(TypeError, match="floats in the model, found int64 for 'n'"):
        fr.learning.federated_averaging_in_python({"n": np.array([1])}, train, data)


class Totals:
    """Adds up the numbers of the clients that took part."""

    initialize = fr.Computation.parse("( -> %federated_value_at_server(lit int32 0))")
    next = fr.Computation.parse(
        """(x:<state=int32@SERVER,data={int32*}@CLIENTS> ->
          (let sums=%federated_map(<(rows:int32* -> %sequence_sum(rows)),x.data>),
               round=%federated_sum(sums),
               total=%federated_apply(<(it:<int32,int32> -> %generic_plus(it)),%federated_zip_at_server(<x.state,round>)>) in
           <state=total,metrics=%federated_apply(<(t:int32 -> <total=t>),total>)>))"""
    )


NUMBERS = {f"client {index}": [index, 10 * index] for index in range(6)}


def totals(rounds, **options):
    return fr.simulate(Totals, NUMBERS, rounds, 2, progress=False, **options)


def test_sampling_follows_the_seed():
    history = totals(8, seed=3)
    assert all(len(it["clients"]) == 2 for it in history)
    assert len({tuple(it["clients"]) for it in history}) > 1
    assert [it["clients"] for it in totals(8, seed=3)] == [it["clients"] for it in history]
    assert [it["clients"] for it in totals(8, seed=4)] != [it["clients"] for it in history]
    total = 0
    for it in history:
        total += sum(sum(NUMBERS[client]) for client in it["clients"])
        assert it["metrics"] == {"total": total}
    assert history.state == total
    with pytest.raises(ValueError, match="at most 6, found 7"):
        fr.simulate(Totals, NUMBERS, 1, 7)


def test_checkpoints(tmp_path):
    path = tmp_path / "totals.zip"

    class Stop(Exception):
        pass

    def stop(done):
        if done["round"] == 3:
            raise Stop

    with pytest.raises(Stop):
        totals(6, checkpoint=path, on_round=stop)
    rounds = []
    history = totals(6, checkpoint=path, on_round=rounds.append)
    assert [it["round"] for it in rounds] == [4, 5, 6]
    expected = totals(6)
    assert [(it["clients"], it["metrics"]) for it in history] == [(it["clients"], it["metrics"]) for it in expected]
    assert history.state == expected.state
    with pytest.raises(ValueError, match="seed is 0, not 1"):
        totals(6, seed=1, checkpoint=path)
    assert [it.name for it in tmp_path.iterdir()] == ["totals.zip"]


def test_data_that_is_loaded_when_it_is_needed():
    asked = []

    def loader(name, numbers):
        return lambda: asked.append(name) or numbers

    clients = {name: loader(name, numbers) for name, numbers in NUMBERS.items()}
    history = fr.simulate(Totals, clients, 4, 2, progress=False)
    assert asked == [client for it in history for client in it["clients"]]
    with pytest.raises(fr.MismatchError) as caught:
        fr.simulate(Totals, {"a": [1], "b": [0.5]}, 1, progress=False)
    assert caught.value.__notes__ == ["while the data of client 'b' was read"]
    with pytest.raises(TypeError, match="found list"):
        fr.simulate(Totals, [[1], [2]], 1)


def test_tables():
    table = pd.DataFrame({"user": ["b", "a", "b", "b"], "n": [1, 2, 3, 4]})
    clients = fr.divide(table, "user")
    assert list(clients) == ["b", "a"] and len(clients["b"]) == 3
    assert [int(it["n"]) for it in clients["b"]] == [1, 3, 4]
    assert [it["n"].tolist() for it in fr.divide(table, "user", batch_size=2)["b"]] == [[1, 3], [4]]
    assert [it["n"].tolist() for it in fr.divide(table, "user", batch_size=2, drop_remainder=True)["b"]] == [[1, 3]]
    assert [it["n"].tolist() for it in fr.divide(table, 2, batch_size=4, epochs=2, columns={"n": "n"})[1]] == [[2, 4]] * 2
    element = fr.Type("<n=int32>")
    assert fr.divide(table, "user").batches("a", element)[0]["n"].dtype == np.int32
    with pytest.raises(fr.MismatchError, match="column n: expected int32"):
        fr.divide({"n": np.array([1.5])}, 1).batches(0, element)
    with pytest.raises(KeyError, match="nobody"):
        fr.divide(table, "nobody")
    with pytest.raises(TypeError, match="expected a table"):
        fr.divide(5, 2)


def test_data_sets_of_pytorch():
    class DataSet:
        def __len__(self):
            return 3

        def __getitem__(self, index):
            return np.full(2, index, np.float32), index

    clients = fr.divide(DataSet(), 2, batch_size=2)
    (x, y), = clients.batches(0, fr.Type("<float32[?,2],int32[?]>"))
    np.testing.assert_equal(x, [[0, 0], [2, 2]])
    np.testing.assert_equal(y, np.array([0, 2], np.int32))


def test_histories():
    history = totals(3)
    frame = history.to_pandas()
    assert list(frame.columns) == ["total", "seconds"] and list(frame.index) == [1, 2, 3]
    assert frame["total"].tolist() == [it["metrics"]["total"] for it in history]
    shown = history._repr_html_()
    assert shown.count("<tr>") == 4 and "<svg" in shown and "polyline" in shown
    assert "3 rounds" in repr(history) and "total" in repr(history)
    assert repr(fr.History()) == "<History of no rounds>" and "<svg" in fr.History()._repr_html_()


def test_bars(capsys):
    fr.simulate(Totals, NUMBERS, 2, 2)
    assert "2/2" in capsys.readouterr().err
