"""Makes the computations of this folder with the JAX frontend of TensorFlow Federated 0.87.0: federated averaging over handwritten digits.

usage: generate.py OUT_DIR

Writes, as serialized messages `tensorflow_federated.v0.Computation` whose bodies are XLA modules:
  initialize.pb, next.pb                   the training process
  evaluate.initialize.pb, evaluate.pb      the evaluation process, whose state is the model
  get_model_weights.pb, evaluate.set_model_weights.pb
Nothing in them is compiled away: federated_mean and federated_sum are there as they were called.
Besides: history.json, the metrics that the same functions give when JAX alone runs them, in a loop over the clients.
"""
import collections
import csv
import json
import os
import sys

os.environ['TF_CPP_MIN_LOG_LEVEL'] = '3'
import jax
import jax.numpy as jnp
import numpy as np
import tensorflow_federated as tff
from tensorflow_federated.python.core.impl.computation import computation_impl

N_CLIENTS = 20
N_ROUNDS = 20
BATCH_SIZE = 10
N_HIDDEN = 32
LEARNING_RATE = 0.5


def struct(**elements):
  return tff.to_type(collections.OrderedDict(elements))


def floats(*dims):
  return tff.TensorType(np.float32, dims)


# 64 pixels, 32 hidden units (relu), 10 digits.
MODEL = struct(hidden=floats(64, N_HIDDEN), hidden_bias=floats(N_HIDDEN), output=floats(N_HIDDEN, 10), output_bias=floats(10))
BATCH = tff.to_type((floats(BATCH_SIZE, 64), tff.TensorType(np.int32, (BATCH_SIZE,))))
BATCHES = tff.SequenceType(BATCH)
# Sums over examples.
SUMS = struct(correct=floats(), loss_sum=floats(), n=floats())
TRAINED = struct(model=MODEL, sums=SUMS)


def zeros():
  return collections.OrderedDict((name, jnp.zeros((), jnp.float32)) for name in ('correct', 'loss_sum', 'n'))


def initial_model():
  rng = np.random.default_rng(0)
  return collections.OrderedDict(
      hidden=jnp.asarray(rng.normal(size=(64, N_HIDDEN)) * 0.125, jnp.float32),
      hidden_bias=jnp.zeros(N_HIDDEN, jnp.float32),
      output=jnp.asarray(rng.normal(size=(N_HIDDEN, 10)) * 0.17, jnp.float32),
      output_bias=jnp.zeros(10, jnp.float32),
  )


def losses(model, pixels, labels):
  hidden = jax.nn.relu(pixels / 16.0 @ model['hidden'] + model['hidden_bias'])
  logits = hidden @ model['output'] + model['output_bias']
  of_labels = jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], axis=1)
  return -of_labels[:, 0], jnp.argmax(logits, axis=1) == labels


def count(sums, model, batch):
  loss, correct = losses(model, batch[0], batch[1])
  return collections.OrderedDict(
      correct=sums['correct'] + jnp.sum(correct.astype(jnp.float32)),
      loss_sum=sums['loss_sum'] + jnp.sum(loss),
      n=sums['n'] + BATCH_SIZE,
  )


def before_training(model):
  return collections.OrderedDict(model=model, sums=zeros())


def train_on_batch(trained, batch):
  model = trained['model']
  gradient = jax.grad(lambda model: jnp.mean(losses(model, batch[0], batch[1])[0]))(model)
  moved = collections.OrderedDict((name, model[name] - LEARNING_RATE * gradient[name]) for name in model)
  return collections.OrderedDict(model=moved, sums=count(trained['sums'], model, batch))


def evaluate_on_batch(evaluated, batch):
  model = evaluated['model']
  return collections.OrderedDict(model=model, sums=count(evaluated['sums'], model, batch))


def ratios(sums):
  return collections.OrderedDict(
      accuracy=sums['correct'] / sums['n'], loss=sums['loss_sum'] / sums['n'], num_examples=sums['n']
  )


# The same functions as computations.
initial_model_comp = tff.jax.computation(initial_model)
before_training_comp = tff.jax.computation(before_training, MODEL)
train_on_batch_comp = tff.jax.computation(train_on_batch, TRAINED, BATCH)
evaluate_on_batch_comp = tff.jax.computation(evaluate_on_batch, TRAINED, BATCH)
ratios_comp = tff.jax.computation(ratios, SUMS)


@tff.federated_computation(BATCHES, MODEL)
def train_client(batches, model):
  return tff.sequence_reduce(batches, before_training_comp(model), train_on_batch_comp)


@tff.federated_computation(BATCHES, MODEL)
def evaluate_client(batches, model):
  return tff.sequence_reduce(batches, before_training_comp(model), evaluate_on_batch_comp)


@tff.federated_computation
def initialize():
  return tff.federated_eval(initial_model_comp, tff.SERVER)


@tff.federated_computation(TRAINED)
def select_sums(trained):
  return trained.sums


@tff.federated_computation(TRAINED)
def select_model(trained):
  return trained.model


@tff.federated_computation(TRAINED)
def select_weight(trained):
  return trained.sums.n


def metrics_of(clients):
  sums = tff.federated_map(select_sums, clients)
  return tff.federated_map(ratios_comp, tff.federated_sum(sums))


@tff.federated_computation(tff.FederatedType(MODEL, tff.SERVER), tff.FederatedType(BATCHES, tff.CLIENTS))
def next_round(model, batches):
  trained = tff.federated_map(train_client, (batches, tff.federated_broadcast(model)))
  model = tff.federated_mean(tff.federated_map(select_model, trained), tff.federated_map(select_weight, trained))
  return collections.OrderedDict(state=model, metrics=metrics_of(trained))


@tff.federated_computation(tff.FederatedType(MODEL, tff.SERVER), tff.FederatedType(BATCHES, tff.CLIENTS))
def evaluate(model, batches):
  evaluated = tff.federated_map(evaluate_client, (batches, tff.federated_broadcast(model)))
  return collections.OrderedDict(state=model, metrics=metrics_of(evaluated))


@tff.federated_computation(MODEL)
def get_model_weights(model):
  return model


@tff.federated_computation(MODEL, MODEL)
def set_model_weights(_, model):
  return model


def run(clients):
  """What the process and its evaluation compute, without TensorFlow Federated."""
  train, evaluate_one = jax.jit(train_on_batch), jax.jit(evaluate_on_batch)

  def fold(step, model):
    results = []
    for batches in clients:
      result = before_training(model)
      for batch in batches:
        result = step(result, batch)
      results.append(result)
    sums = {name: sum(result['sums'][name] for result in results) for name in results[0]['sums']}
    return results, {name: float(value) for name, value in ratios(sums).items()}

  model, rounds = initial_model(), []
  for _ in range(N_ROUNDS):
    results, metrics = fold(train, model)
    n = sum(result['sums']['n'] for result in results)
    model = collections.OrderedDict(
        (name, sum(result['model'][name] * result['sums']['n'] for result in results) / n) for name in model
    )
    rounds.append(metrics)
  return {'clients': N_CLIENTS, 'rounds': rounds, 'evaluation': fold(evaluate_one, model)[1]}


def load_clients():
  """The full batches of each client: row r of the table belongs to client r modulo N_CLIENTS."""
  path = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'digits', 'digits.csv')
  with open(path, newline='') as file:
    rows = np.array(list(csv.reader(file))[1:], np.float32)
  clients = []
  for client in range(N_CLIENTS):
    own = rows[client::N_CLIENTS]
    starts = range(0, len(own) - BATCH_SIZE + 1, BATCH_SIZE)
    batches = [own[start : start + BATCH_SIZE] for start in starts]
    clients.append([(batch[:, :64], batch[:, 64].astype(np.int32)) for batch in batches])
  return clients


def main():
  out = sys.argv[1]
  os.makedirs(out, exist_ok=True)
  comps = {
      'initialize': initialize,
      'next': next_round,
      'get_model_weights': get_model_weights,
      'evaluate.initialize': initialize,
      'evaluate.set_model_weights': set_model_weights,
      'evaluate': evaluate,
  }
  for name, comp in comps.items():
    proto = computation_impl.ConcreteComputation.get_proto(comp)
    with open(os.path.join(out, f'{name}.pb'), 'wb') as file:
      file.write(proto.SerializeToString(deterministic=True))
  with open(os.path.join(out, 'history.json'), 'w') as file:
    json.dump(run(load_clients()), file, indent=1)


if __name__ == '__main__':
  main()
