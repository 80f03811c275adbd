"""Functions of JAX, with arguments: what models are made of."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

_RNG = np.random.default_rng(0)
FUNCTIONS = {}


def _floats(*shape):
    return _RNG.normal(size=shape).astype(np.float32)


def _function(*args):
    def register(fn):
        FUNCTIONS[fn.__name__] = (fn, args)
        return fn

    return register


@_function(_floats(8, 28, 28, 1), _floats(3, 3, 1, 16))
def gradient_of_convolution(x, kernel):
    def loss(kernel):
        convolved = lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        return jnp.sum(jax.nn.relu(convolved) ** 2)

    return jax.grad(loss)(kernel)


@_function(_floats(4, 8, 8, 2))
def gradient_of_pooling(x):
    def loss(x):
        return jnp.sum(lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID") ** 2)

    return jax.grad(loss)(x)


@_function(_floats(10, 4, 8), _floats(8, 32), _floats(8, 32))
def lstm(inputs, w, u):
    def step(carry, x):
        hidden, cell = carry
        i, f, g, o = jnp.split(x @ w + hidden @ u, 4, axis=-1)
        cell = jax.nn.sigmoid(f) * cell + jax.nn.sigmoid(i) * jnp.tanh(g)
        hidden = jax.nn.sigmoid(o) * jnp.tanh(cell)
        return (hidden, cell), hidden

    return lax.scan(step, (jnp.zeros((4, 8)), jnp.zeros((4, 8))), inputs)[1]


@_function(_floats(2, 16, 4, 8), _floats(2, 16, 4, 8), _floats(2, 16, 4, 8))
def attention(q, k, v):
    return jax.nn.dot_product_attention(q, k, v)


@_function(np.uint32(7))
def random_normal(seed):
    return jax.random.normal(jax.random.PRNGKey(seed), (5,))


@_function(_floats(6, 6), np.uint32(3))
def dropout(x, seed):
    return jnp.where(jax.random.bernoulli(jax.random.PRNGKey(seed), 0.5, x.shape), x, 0.0)


@_function(_floats(20))
def sort(x):
    return {"sorted": jnp.sort(x), "order": jnp.argsort(x)}


@_function(_floats(20))
def top_k(x):
    return lax.top_k(x, 3)


@_function(_floats(7, 5))
def sums(x):
    return {"cumsum": jnp.cumsum(x, 0), "logsumexp": jax.nn.logsumexp(x, 1)}


@_function(_floats(10, 3), np.array([1, 5, 7], np.int32))
def gather_and_scatter(x, index):
    return {"gathered": x[index], "scattered": x.at[index].add(1.0)}


@_function(np.float32(100.0))
def while_loop(x):
    return lax.while_loop(lambda value: value > 1.0, lambda value: value / 2.0, x)


@_function(np.eye(4, dtype=np.float32) * 2)
def cholesky(x):
    return jnp.linalg.cholesky(x)


@_function(np.eye(4, dtype=np.float32) * 2)
def eigenvalues(x):
    return jnp.linalg.eigh(x)[0]


@_function(np.eye(4, dtype=np.float32) * 2, _floats(4))
def solve(a, b):
    return jnp.linalg.solve(a, b)


@_function(_floats(4, 4))
def qr(a):
    return jnp.abs(jnp.linalg.qr(a)[1])


@_function(_floats(16))
def fft(x):
    return jnp.abs(jnp.fft.fft(x))


@_function(_floats(4, 4))
def bfloat16(x):
    return (x.astype(jnp.bfloat16) @ x.astype(jnp.bfloat16)).astype(jnp.float32)


@_function(np.ones((4, 4), np.int8))
def int8_product(x):
    return lax.dot(x, x, preferred_element_type=jnp.int32)


@_function(_floats(8, 5))
def batch_normalization(x):
    return (x - x.mean(0)) * lax.rsqrt(x.var(0) + 1e-5)


@_function(_floats(12, 6), np.array([[1, 2, 3], [4, 5, 6]], np.int32), _floats(6, 12))
def embedding_and_cross_entropy(embedding, index, w):
    logits = embedding[index] @ w
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), index[..., None], -1))


@_function(_floats(3))
def cond(x):
    return lax.cond(x[0] > 0, lambda x: x * 2, lambda x: -x, x)


@_function(_floats(256, 256), _floats(256, 256))
def large_product(a, b):
    return a @ b


@_function(_floats(9))
def gelu(x):
    return jax.nn.gelu(x, approximate=False)


@_function(np.abs(_floats(5)) + 1)
def digamma(x):
    return jax.scipy.special.digamma(x)


@_function(_floats(5, 4))
def one_hot(x):
    return jax.nn.one_hot(jnp.argmax(x, 1), 4)


@_function(_floats(5, 5))
def rematerialization(x):
    return jax.grad(lambda x: jnp.sum(jax.checkpoint(lambda y: jnp.sin(y @ y))(x)))(x)
