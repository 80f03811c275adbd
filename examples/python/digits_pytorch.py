"""Federated averaging of a small network in PyTorch on handwritten digits, spread over 20 clients.

    pip install federated-runtime federated-language torch scikit-learn pandas tqdm
    python digits_pytorch.py
"""

import federated_runtime as fr
import federated_runtime.learning
import numpy as np
import torch
from sklearn.datasets import load_digits

digits = load_digits()
clients = {
    client: {"x": digits.data[client::20].astype(np.float32) / 16, "y": digits.target[client::20]}
    for client in range(20)
}


def network():
    return torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 10))


def load(model, data):
    net = network()
    net.load_state_dict({name: torch.tensor(array) for name, array in model.items()})
    return net, torch.tensor(data["x"]), torch.tensor(data["y"])


def train(model, data):
    net, x, y = load(model, data)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.5)
    for _ in range(5):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
    trained = {name: tensor.detach().numpy() for name, tensor in net.state_dict().items()}
    return trained, len(y), {"loss": loss.item()}


def evaluate(model, data):
    net, x, y = load(model, data)
    with torch.no_grad():
        logits = net(x)
    accuracy = (logits.argmax(1) == y).float().mean().item()
    return len(y), {"loss": torch.nn.functional.cross_entropy(logits, y).item(), "accuracy": accuracy}


def measured_in_training(model, data):
    trained, weight, metrics = train(model, data)
    return trained, weight, {**metrics, "accuracy": evaluate(model, data)[1]["accuracy"]}


torch.manual_seed(0)
process = fr.learning.federated_averaging_in_python(
    {name: tensor.numpy() for name, tensor in network().state_dict().items()},
    measured_in_training,
    {"x": (np.float32, [None, 64]), "y": (np.int64, [None])},
    evaluate=evaluate,
    metrics=["loss", "accuracy"],
)
history = fr.simulate(process, clients, rounds=15, clients_per_round=10)
print(history.to_pandas())
print(history.evaluation)
