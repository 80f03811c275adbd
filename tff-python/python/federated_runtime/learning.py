"""Federated averaging as computations, in a few lines.

    import federated_runtime as fr
    import federated_runtime.learning

    def loss(model, batch):
        logits = batch["pixels"] @ model["w"] + model["b"]
        return optax.softmax_cross_entropy_with_integer_labels(logits, batch["label"]).mean()

    process = fr.learning.federated_averaging(model, loss, batch, client_optimizer=fr.learning.sgd(0.5))
    history = fr.simulate(process, clients, rounds=20, clients_per_round=10)

What is made are computations of federated-language: they can be printed, saved, compiled and served like others.
"""

import collections
import typing

import federated_language as _fl
import numpy as np

__all__ = ["AveragingProcess", "Optimizer", "adam", "federated_averaging", "federated_averaging_in_python", "sgd"]


class Optimizer(typing.NamedTuple):
    """How gradients change a model; those of optax have the same two functions.

    Attributes:
        init: Takes the model to the first state of the optimizer.
        update: Takes gradients, the state and the model to what is added to the model, and the next state.
    """

    init: typing.Callable
    update: typing.Callable


def sgd(learning_rate, momentum=0.0):
    """Stochastic gradient descent.

    Args:
        learning_rate: What gradients are multiplied by.
        momentum: The share of the last step's direction that is kept.
    """
    import jax

    def init(model):
        return jax.tree_util.tree_map(lambda it: it * 0, model) if momentum else ()

    def update(gradients, state, model=None):
        del model
        if momentum:
            state = gradients = jax.tree_util.tree_map(lambda old, new: momentum * old + new, state, gradients)
        return jax.tree_util.tree_map(lambda it: -learning_rate * it, gradients), state

    return Optimizer(init, update)


def adam(learning_rate, b1=0.9, b2=0.999, eps=1e-8):
    """Adam (Kingma and Ba, 2015).

    Args:
        learning_rate: The size of a step.
        b1: The share of the mean of gradients that is kept.
        b2: The share of the mean of their squares that is kept.
        eps: What keeps the divisor from being zero.
    """
    import jax
    import jax.numpy as jnp

    tree_map = jax.tree_util.tree_map

    def init(model):
        zeros = tree_map(lambda it: it * 0, model)
        return {"mean": zeros, "square": zeros, "step": jnp.float32(0)}

    def update(gradients, state, model=None):
        del model
        step = state["step"] + 1
        mean = tree_map(lambda old, new: b1 * old + (1 - b1) * new, state["mean"], gradients)
        square = tree_map(lambda old, new: b2 * old + (1 - b2) * new * new, state["square"], gradients)
        rate = learning_rate * jnp.sqrt(1 - b2**step) / (1 - b1**step)
        updates = tree_map(lambda m, s: -rate * m / (jnp.sqrt(s) + eps), mean, square)
        return updates, {"mean": mean, "square": square, "step": step}

    return Optimizer(init, update)


class AveragingProcess:
    """What `federated_runtime.simulate` runs.

    Attributes:
        initialize: The computation of the first state, ``( -> S@SERVER)``.
        next: A round, ``(<state=S@SERVER,data={T*}@CLIENTS> -> <state=S@SERVER,metrics=M@SERVER>)``.
        evaluate: The metrics of a state, ``(<state=S@SERVER,data={T*}@CLIENTS> -> M@SERVER)``, or ``None``.
        get_model: A Python function that gives the model in a state, as it was given at first.
    """

    def __init__(self, initialize, next, evaluate, get_model):
        self.initialize = initialize
        self.next = next
        self.evaluate = evaluate
        self.get_model = get_model

    def __repr__(self):
        return f"<AveragingProcess {self.next.type_signature}>"


class _Tree:
    """A tree of JAX as a struct of its leaves, named by their paths."""

    def __init__(self, example):
        import jax

        leaves, self._tree = jax.tree_util.tree_flatten_with_path(example)
        names = ["_".join(self._name(key) for key in path) or "value" for path, _ in leaves]
        self._names = names if len(set(names)) == len(names) else [f"leaf{index}" for index in range(len(names))]
        types = ((name, _fl.TensorType(leaf.dtype.type, leaf.shape)) for name, (_, leaf) in zip(self._names, leaves))
        self.type = _fl.to_type(collections.OrderedDict(types))

    @staticmethod
    def _name(key):
        return str(next(getattr(key, name) for name in ("key", "idx", "name") if hasattr(key, name)))

    def pack(self, tree):
        import jax

        return collections.OrderedDict(zip(self._names, jax.tree_util.tree_leaves(tree), strict=True))

    def unpack(self, struct):
        import jax

        return jax.tree_util.tree_unflatten(self._tree, [struct[name] for name in self._names])


def _struct(**elements):
    return collections.OrderedDict(elements)


def _server(ty):
    return _fl.FederatedType(ty, _fl.SERVER)


def _clients(ty):
    return _fl.FederatedType(ty, _fl.CLIENTS)


def _select(ty, name):
    return _fl.federated_computation(lambda value: getattr(value, name), ty)


def federated_averaging(initial, loss, batch, *, client_optimizer=None, server_optimizer=None):
    """Federated averaging of a model in JAX, weighted by the clients' numbers of examples.

    In each round every client starts from the server's model and takes one step for each of its batches. The server
    moves its model to the mean of theirs, or as its optimizer says with that direction as the gradient. Clients without
    data have no weight; where no client has data the model stays.

    Args:
        initial: The first model, a tree of arrays (dicts, lists, tuples, dataclasses that JAX knows), or a function
            without parameters that gives it. It becomes part of the computations.
        loss: Takes a model and a batch to the mean loss of the batch's examples, or to that and a dict of further
            means, such as the accuracy.
        batch: A batch, an array or a dict or tuple of arrays whose first dimension counts the examples; or the type of
            one, as federated-language has it. All batches have these sizes: XLA compiles for them.
        client_optimizer: An `Optimizer` or one of optax, whose state starts anew in each round; by default ``sgd(0.1)``.
        server_optimizer: An `Optimizer` or one of optax; by default the model becomes the clients' mean.

    Returns:
        An `AveragingProcess`. Its metrics are ``loss``, those that `loss` gives, and ``num_examples``: of the training,
        means over all examples of the round, each by the model just before the step on its batch.

    Raises:
        TypeError: The loss is not a scalar, or the batch has types that JAX does not have.
    """
    import jax
    import jax.numpy as jnp

    from . import jax as leaves

    tree_map = jax.tree_util.tree_map
    client_optimizer = client_optimizer or sgd(0.1)
    first = tree_map(jnp.asarray, initial() if callable(initial) else initial)
    if not isinstance(batch, _fl.Type):
        batch = _fl.to_type(_types_of(batch))
    flat = []
    specs = leaves._specs(batch, flat)
    if not flat or not all(spec.shape and spec.shape[0] == flat[0].shape[0] for spec in flat):
        raise TypeError(f"expected a batch of tensors with the same first dimension, found {batch}")
    n_examples = flat[0].shape[0]

    def measure(model, batch):
        found = loss(model, batch)
        value, others = found if isinstance(found, tuple) else (found, {})
        return value, _struct(loss=value, **others)

    shapes = jax.eval_shape(measure, first, specs)[1]
    for name, shape in shapes.items():
        if shape.shape or not jnp.issubdtype(shape.dtype, jnp.number):
            raise TypeError(f"expected a number for the metric {name!r}, found {shape.dtype}{list(shape.shape)}")
    model, steps = _Tree(first), _Tree(jax.eval_shape(client_optimizer.init, first))
    server = _Tree(jax.eval_shape(server_optimizer.init, first) if server_optimizer else ())
    scalar = _fl.TensorType(np.float32)
    sums_type = _fl.to_type(_struct(num_examples=scalar, **{name: scalar for name in shapes}))
    state_type = _fl.to_type(_struct(model=model.type, optimizer=server.type))
    local_type = _fl.to_type(_struct(model=model.type, optimizer=steps.type, sums=sums_type))

    def apply(model, updates):
        return tree_map(lambda old, update: (old + update).astype(old.dtype), model, updates)

    def add(sums, metrics):
        means = _struct(**{name: sums[name] + n_examples * jnp.float32(metrics[name]) for name in shapes})
        return _struct(num_examples=sums["num_examples"] + n_examples, **means)

    def start_state():
        return _struct(model=model.pack(first), optimizer=server.pack(server_optimizer.init(first) if server_optimizer else ()))

    def start_client(packed):
        sums = _struct(num_examples=jnp.float32(0), **{name: jnp.float32(0) for name in shapes})
        return _struct(model=packed, optimizer=steps.pack(client_optimizer.init(model.unpack(packed))), sums=sums)

    def train_on_batch(local, batch):
        old = model.unpack(local["model"])
        (_, metrics), gradients = jax.value_and_grad(measure, has_aux=True)(old, batch)
        updates, optimizer = client_optimizer.update(gradients, steps.unpack(local["optimizer"]), old)
        new = model.pack(apply(old, updates))
        return _struct(model=new, optimizer=steps.pack(optimizer), sums=add(local["sums"], metrics))

    def evaluate_on_batch(local, batch):
        sums = add(local["sums"], measure(model.unpack(local["model"]), batch)[1])
        return _struct(model=local["model"], optimizer=local["optimizer"], sums=sums)

    def move(state, mean, sums):
        old, found = model.unpack(state["model"]), model.unpack(mean)
        if server_optimizer is None:
            new, optimizer = found, ()
        else:
            before = server.unpack(state["optimizer"])
            updates, optimizer = server_optimizer.update(tree_map(jnp.subtract, old, found), before, old)
            new = apply(old, updates)
            optimizer = tree_map(lambda kept, it: jnp.where(sums["num_examples"] > 0, it, kept), before, optimizer)
        new = tree_map(lambda kept, it: jnp.where(sums["num_examples"] > 0, it, kept), old, new)
        return _struct(model=model.pack(new), optimizer=server.pack(optimizer))

    def means(sums):
        n = jnp.maximum(sums["num_examples"], 1)
        return _struct(**{name: sums[name] / n for name in shapes}, num_examples=sums["num_examples"])

    start_state = leaves.computation(start_state)
    start_client = leaves.computation(model.type)(start_client)
    train_on_batch = leaves.computation(local_type, batch)(train_on_batch)
    evaluate_on_batch = leaves.computation(local_type, batch)(evaluate_on_batch)
    move = leaves.computation(state_type, model.type, sums_type)(move)
    means = leaves.computation(sums_type)(means)
    batches = _fl.SequenceType(batch)

    def at_clients(step):
        @_fl.federated_computation(batches, model.type)
        def fold(batches, packed):
            return _fl.sequence_reduce(batches, start_client(packed), step)

        return fold

    train_client, evaluate_client = at_clients(train_on_batch), at_clients(evaluate_on_batch)
    select_model, select_sums = _select(local_type, "model"), _select(local_type, "sums")
    select_weight, select_state_model = _select(sums_type, "num_examples"), _select(state_type, "model")

    @_fl.federated_computation
    def initialize():
        return _fl.federated_eval(start_state, _fl.SERVER)

    @_fl.federated_computation(_server(state_type), _clients(batches))
    def next_round(state, data):
        sent = _fl.federated_broadcast(_fl.federated_map(select_state_model, state))
        trained = _fl.federated_map(train_client, (data, sent))
        sums = _fl.federated_map(select_sums, trained)
        weights = _fl.federated_map(select_weight, sums)
        mean = _fl.federated_mean(_fl.federated_map(select_model, trained), weights)
        total = _fl.federated_sum(sums)
        return _struct(
            state=_fl.federated_map(move, (state, mean, total)),
            metrics=_fl.federated_map(means, total),
        )

    @_fl.federated_computation(_server(state_type), _clients(batches))
    def evaluate(state, data):
        sent = _fl.federated_broadcast(_fl.federated_map(select_state_model, state))
        sums = _fl.federated_map(select_sums, _fl.federated_map(evaluate_client, (data, sent)))
        return _fl.federated_map(means, _fl.federated_sum(sums))

    return AveragingProcess(initialize, next_round, evaluate, lambda state: model.unpack(state["model"]))


def _types_of(batch):
    """The types of the arrays of a batch."""
    if isinstance(batch, dict):
        return collections.OrderedDict((name, _types_of(it)) for name, it in batch.items())
    if isinstance(batch, (tuple, list)):
        return [_types_of(it) for it in batch]
    if not hasattr(batch, "dtype"):
        batch = np.asarray(batch)
    return _fl.TensorType(np.dtype(batch.dtype).type, tuple(batch.shape))


def _floats(metrics):
    # Of any of the classes of numbers that packages have.
    return {name: float(value) for name, value in metrics.items()}


def federated_averaging_in_python(initial, train, data, *, evaluate=None, metrics=()):
    """Federated averaging of a model that a Python function trains, such as one of PyTorch or scikit-learn.

    Args:
        initial: The first model, a dict of arrays of floats. A ``state_dict`` of PyTorch is one.
        train: Takes a dict of read-only NumPy arrays, the model, and a client's data to the trained model, the client's
            weight, such as its number of examples, and a dict of its metrics.
        data: The type of a client's data, as federated-language has it. Of a sequence the function gets a list.
        evaluate: Takes a model and a client's data to the client's weight and its metrics; or ``None``.
        metrics: The names of the metrics, which are numbers.

    Returns:
        An `AveragingProcess`. Its metrics are the means of the clients', by their weights. The functions run in this
        process: what is saved names them, and runs where they are registered alone.

    Raises:
        TypeError: The model has something other than floats in it.
    """
    from . import python as leaves

    first = collections.OrderedDict((name, np.array(it)) for name, it in initial.items())
    for name, array in first.items():
        if not np.issubdtype(array.dtype, np.floating):
            raise TypeError(f"expected floats in the model, found {array.dtype} for {name!r}: its mean is not of that type")
    scalar = _fl.TensorType(np.float32)
    model = _fl.to_type(_struct(**{name: _fl.TensorType(it.dtype.type, it.shape) for name, it in first.items()}))
    data = _fl.to_type(data)
    measured = _fl.to_type(_struct(**{name: scalar for name in metrics}))
    trained_type = _fl.to_type(_struct(model=model, weight=scalar, metrics=measured))
    evaluated_type = _fl.to_type(_struct(weight=scalar, metrics=measured))

    @leaves.computation(returns=model)
    def start():
        return first

    @leaves.computation(model, data, returns=trained_type)
    def train_client(model, data):
        found, weight, others = train(model, data)
        found = {name: np.asarray(found[name]) for name in first}
        return {"model": found, "weight": float(weight), "metrics": _floats(others)}

    @_fl.federated_computation
    def initialize():
        return _fl.federated_eval(start, _fl.SERVER)

    @_fl.federated_computation(_server(model), _clients(data))
    def next_round(model, data):
        trained = _fl.federated_map(train_client, (_fl.federated_broadcast(model), data))
        parts = [_fl.federated_map(_select(trained_type, name), trained) for name in ("model", "weight", "metrics")]
        models, weights, others = parts
        return _struct(state=_fl.federated_mean(models, weights), metrics=_fl.federated_mean(others, weights))

    if evaluate is None:
        return AveragingProcess(initialize, next_round, None, dict)

    @leaves.computation(model, data, returns=evaluated_type)
    def evaluate_client(model, data):
        weight, others = evaluate(model, data)
        return {"weight": float(weight), "metrics": _floats(others)}

    @_fl.federated_computation(_server(model), _clients(data))
    def evaluation(model, data):
        found = _fl.federated_map(evaluate_client, (_fl.federated_broadcast(model), data))
        weights = _fl.federated_map(_select(evaluated_type, "weight"), found)
        return _fl.federated_mean(_fl.federated_map(_select(evaluated_type, "metrics"), found), weights)

    return AveragingProcess(initialize, next_round, evaluation, dict)
