"""Federated averaging of a linear classifier of scikit-learn on handwritten digits, spread over 20 clients.

    pip install federated-runtime federated-language scikit-learn pandas tqdm
    python scikit_learn.py
"""

import federated_runtime as fr
import federated_runtime.learning
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import SGDClassifier

digits = load_digits()
clients = {
    client: {"x": digits.data[client::20].astype(np.float32) / 16, "y": digits.target[client::20]}
    for client in range(20)
}


def train(model, data):
    classifier = SGDClassifier(loss="log_loss", learning_rate="constant", eta0=0.1, random_state=0)
    classifier.partial_fit(data["x"][:1], data["y"][:1], classes=np.arange(10))
    classifier.coef_, classifier.intercept_ = np.array(model["coef"], float), np.array(model["intercept"], float)
    accuracy = classifier.score(data["x"], data["y"])
    for _ in range(3):
        classifier.partial_fit(data["x"].astype(float), data["y"])
    trained = {"coef": classifier.coef_.astype(np.float32), "intercept": classifier.intercept_.astype(np.float32)}
    return trained, len(data["y"]), {"accuracy": accuracy}


process = fr.learning.federated_averaging_in_python(
    {"coef": np.zeros((10, 64), np.float32), "intercept": np.zeros(10, np.float32)},
    train,
    {"x": (np.float32, [None, 64]), "y": (np.int64, [None])},
    metrics=["accuracy"],
)
history = fr.simulate(process, clients, rounds=10)
print(history.to_pandas())
