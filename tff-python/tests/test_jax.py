"""Functions of JAX as leaves."""

import collections

import federated_language as fl
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import federated_runtime as fr
import federated_runtime.jax
from jax_functions import FUNCTIONS


pytestmark = pytest.mark.usefixtures("context")


def floats(*shape):
    return fl.TensorType(np.float32, shape)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name):
    fn, args = FUNCTIONS[name]
    types = [fl.TensorType(arg.dtype.type, arg.shape) for arg in args]
    found = fr.jax.computation(*types)(fn)(*args)
    expected = jax.jit(fn)(*args)
    if isinstance(expected, dict):
        found = dict(found)
    assert jax.tree_util.tree_structure(found) == jax.tree_util.tree_structure(expected) or isinstance(expected, list)
    for one, other in zip(jax.tree_util.tree_leaves(found), jax.tree_util.tree_leaves(expected), strict=True):
        assert one.dtype == other.dtype and one.shape == other.shape
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4 * max(1.0, float(np.max(np.abs(other)))))


def test_structs_go_in_and_out_in_the_order_of_their_types():
    model = fl.StructWithPythonType([("w", floats(2)), ("b", floats())], collections.OrderedDict)

    @fr.jax.computation(model, floats(2))
    def step(model, x):
        return collections.OrderedDict(w=model["w"] + x, b=model["b"] - 1, a=(x, x * 2))

    found = step({"b": 5.0, "w": [1, 2]}, [10, 20])
    assert list(found) == ["w", "b", "a"]
    np.testing.assert_equal(dict(found)["w"], np.array([11, 22], np.float32))
    assert found["b"] == 4
    np.testing.assert_equal(found["a"][1], np.array([20, 40], np.float32))


def test_gradients_at_clients():
    @fr.jax.computation(floats(2), floats(4, 2))
    def gradient(w, x):
        return jax.grad(lambda w: jnp.mean((x @ w - 1.0) ** 2))(w)

    @fl.federated_computation(fl.FederatedType(floats(2), fl.SERVER), fl.FederatedType(floats(4, 2), fl.CLIENTS))
    def mean_gradient(w, xs):
        return fl.federated_mean(fl.federated_map(gradient, (fl.federated_broadcast(w), xs)))

    rng = np.random.default_rng(0)
    xs = [rng.normal(size=(4, 2)).astype(np.float32) for _ in range(10)]
    w = np.array([0.5, -0.5], np.float32)
    expected = np.mean([jax.grad(lambda w, x=x: jnp.mean((x @ w - 1.0) ** 2))(w) for x in xs], 0)
    np.testing.assert_allclose(mean_gradient(w, xs), expected, rtol=1e-5)


def test_without_parameters_and_without_types():
    assert fr.jax.computation(lambda: jnp.float32(3))() == 3

    @fr.jax.computation
    def double(x):
        return x * 2

    assert double(np.float32(2)) == 4
    np.testing.assert_equal(double(np.array([1, 2], np.int32)), np.array([2, 4], np.int32))


@pytest.mark.parametrize(
    ("ty", "message"),
    [
        (floats(None), r"known shapes .* found float32\[\?\]"),
        (fl.SequenceType(np.float32), r"tensors and structs of them .* found float32\*"),
        (np.float64, "jax_enable_x64"),
    ],
)
def test_types_that_jax_cannot_have(ty, message):
    with pytest.raises(TypeError, match=message):
        fr.jax.computation(ty)(lambda x: x)
