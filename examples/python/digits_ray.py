"""Federated averaging on Ray: each round's clients in four parts, computed by whatever machines there are.

    pip install 'federated-runtime[xla,ray]' federated-language jax optax scikit-learn pandas
    python digits_ray.py              # starts Ray on this machine
    python digits_ray.py --cluster    # on a machine of a Ray cluster that is running
"""

import sys

import federated_runtime as fr
import federated_runtime.learning
import numpy as np
import optax
import ray
from federated_runtime.ray import Ray

N_CLIENTS = 20


def load(client):
    """What one client has. It is read on the machine that computes for the client."""
    from sklearn.datasets import load_digits

    pixels, label = load_digits(return_X_y=True)
    rows = range(client, len(label), N_CLIENTS)
    batches = [rows[start : start + 10] for start in range(0, len(rows) - 9, 10)]
    return [{"pixels": pixels[it].astype(np.float32), "label": label[it].astype(np.int32)} for it in batches]


def loss(model, batch):
    logits = batch["pixels"] / 16 @ model["weights"]
    accuracy = (logits.argmax(1) == batch["label"]).mean()
    return optax.softmax_cross_entropy_with_integer_labels(logits, batch["label"]).mean(), {"accuracy": accuracy}


if "--cluster" in sys.argv:
    ray.init(address="auto")
clients = {client: lambda client=client: load(client) for client in range(N_CLIENTS)}
model = {"weights": np.zeros((64, 10), np.float32)}
batch = {"pixels": np.zeros((10, 64), np.float32), "label": np.zeros(10, np.int32)}
process = fr.learning.federated_averaging(model, loss, batch, client_optimizer=optax.sgd(0.2))
history = fr.simulate(process, clients, rounds=5, clients_per_round=10, engine=Ray(parts=4))
for done in history:
    print(done["round"], done["metrics"], "slowest part", f"{max(done['parts']):.2f} s")
print(history.evaluation)
