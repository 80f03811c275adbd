"""Federated averaging of a small network in JAX on handwritten digits, spread over 20 clients.

    pip install 'federated-runtime[xla]' federated-language jax optax scikit-learn pandas tqdm
    python digits_jax.py
"""

import federated_runtime as fr
import federated_runtime.learning
import jax
import numpy as np
import optax
from sklearn.datasets import load_digits

table = load_digits(as_frame=True).frame
pixels = [name for name in table if name.startswith("pixel")]
columns = {"pixels": pixels, "label": "target"}
clients = fr.divide(table, 20, batch_size=10, drop_remainder=True, epochs=2, columns=columns)

rng = np.random.default_rng(0)
model = {
    "hidden": rng.normal(size=(64, 32)).astype(np.float32) / 8,
    "output": rng.normal(size=(32, 10)).astype(np.float32) / 6,
}


def loss(model, batch):
    logits = jax.nn.relu(batch["pixels"] / 16 @ model["hidden"]) @ model["output"]
    accuracy = (logits.argmax(1) == batch["label"]).mean()
    return optax.softmax_cross_entropy_with_integer_labels(logits, batch["label"]).mean(), {"accuracy": accuracy}


batch = {"pixels": np.zeros((10, 64), np.float32), "label": np.zeros(10, np.int32)}
process = fr.learning.federated_averaging(model, loss, batch, client_optimizer=optax.sgd(0.2))
history = fr.simulate(process, clients, rounds=15, clients_per_round=10)
print(history.to_pandas())
print(history.evaluation)
