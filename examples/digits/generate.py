"""Makes every other data file of this folder with TensorFlow Federated 0.87.0: a federated averaging process over handwritten digits.

usage: generate.py OUT_DIR

Writes, as serialized messages `tensorflow_federated.v0.Computation`:
  initialize.pb, next.pb                          the training process
  evaluate.initialize.pb, evaluate.pb             the evaluation process
  get_model_weights.pb                            training state -> model weights
  evaluate.set_model_weights.pb                   <evaluation state, model weights> -> evaluation state
The first four also as NAME.native.pb: compiled to what TensorFlow Federated's own worker runs.
Besides: digits.csv, the data (64 pixel columns of 0..16, then the label), and history.json, the metrics that TensorFlow Federated
computes with them: 20 clients (row r belongs to client r modulo 20), all of them in each of 20 rounds, batches of 20 rows in file
order, one local epoch.
"""
import collections
import csv
import json
import os
import sys

os.environ['TF_CPP_MIN_LOG_LEVEL'] = '3'
import numpy as np
from sklearn.datasets import load_digits
import tensorflow as tf
import tensorflow_federated as tff
from tensorflow_federated.python.core.backends.native import compiler as native_compiler
from tensorflow_federated.python.core.impl.computation import computation_impl

N_CLIENTS = 20
N_ROUNDS = 20
BATCH_SIZE = 20
N_HIDDEN = 32


def load_data():
  pixels, labels = load_digits(return_X_y=True)
  return pixels.astype(np.float32), labels.astype(np.int32)


def write_csv(path, pixels, labels):
  with open(path, 'w', newline='') as file:
    writer = csv.writer(file, lineterminator='\n')
    writer.writerow([f'p{i}' for i in range(64)] + ['label'])
    for row, label in zip(pixels, labels):
      writer.writerow([int(value) for value in row] + [int(label)])


# The model: 64 pixels, 32 hidden units (relu), 10 digits.
def initial_weights():
  rng = np.random.default_rng(0)
  hidden = (rng.normal(size=(64, N_HIDDEN)) * 0.125).astype(np.float32)
  output = (rng.normal(size=(N_HIDDEN, 10)) * 0.17).astype(np.float32)
  trainable = (hidden, np.zeros(N_HIDDEN, np.float32), output, np.zeros(10, np.float32))
  return trainable, ()


@tf.function
def predict(model_weights, x, training=True):
  weights = model_weights[0]
  hidden = tf.nn.relu(tf.matmul(x / 16.0, weights[0]) + weights[1])
  return tf.matmul(hidden, weights[2]) + weights[3]


def example_losses(output, label):
  return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=label, logits=output)


@tf.function
def loss(output, label, sample_weight=None):
  return tf.reduce_mean(example_losses(output, label))


@tf.function
def init_metrics():
  return collections.OrderedDict(correct=0.0, loss_sum=0.0, n=0.0)


@tf.function
def update_metrics(state, labels, batch_output, sample_weight=None):
  output = batch_output.predictions
  is_correct = tf.equal(tf.argmax(output, 1, output_type=tf.int32), labels)
  return collections.OrderedDict(
      correct=state['correct'] + tf.reduce_sum(tf.cast(is_correct, tf.float32)),
      loss_sum=state['loss_sum'] + tf.reduce_sum(example_losses(output, labels)),
      n=state['n'] + tf.cast(tf.size(labels), tf.float32),
  )


@tf.function
def finalize_metrics(state):
  return collections.OrderedDict(
      accuracy=state['correct'] / state['n'], loss=state['loss_sum'] / state['n'], num_examples=state['n']
  )


def build_model():
  return tff.learning.models.FunctionalModel(
      initial_weights=initial_weights(),
      predict_on_batch_fn=predict,
      loss_fn=loss,
      metrics_fns=(init_metrics, update_metrics, finalize_metrics),
      input_spec=(tf.TensorSpec([None, 64], tf.float32), tf.TensorSpec([None], tf.int32)),
  )


def save(path, comp):
  proto = computation_impl.ConcreteComputation.get_proto(comp)
  with open(path, 'wb') as file:
    file.write(proto.SerializeToString(deterministic=True))


def floats(metrics):
  return {name: float(value) for name, value in metrics.items()}


def main():
  out = sys.argv[1]
  os.makedirs(out, exist_ok=True)
  pixels, labels = load_data()
  write_csv(os.path.join(out, 'digits.csv'), pixels, labels)

  tff.backends.native.set_sync_local_cpp_execution_context()
  sgd = tff.learning.optimizers.build_sgdm
  model = build_model()
  training = tff.learning.algorithms.build_weighted_fed_avg(
      model, client_optimizer_fn=sgd(0.5), server_optimizer_fn=sgd(1.0)
  )
  evaluation = tff.learning.algorithms.build_fed_eval(model)
  comps = {
      'initialize': training.initialize,
      'next': training.next,
      'evaluate.initialize': evaluation.initialize,
      'evaluate': evaluation.next,
  }
  for name, comp in comps.items():
    save(os.path.join(out, f'{name}.pb'), comp)
    save(os.path.join(out, f'{name}.native.pb'), native_compiler.desugar_and_transform_to_native(comp))
  save(os.path.join(out, 'get_model_weights.pb'), training.get_model_weights)
  save(os.path.join(out, 'evaluate.set_model_weights.pb'), evaluation.set_model_weights)

  clients = [
      tf.data.Dataset.from_tensor_slices((pixels[k::N_CLIENTS], labels[k::N_CLIENTS])).batch(BATCH_SIZE)
      for k in range(N_CLIENTS)
  ]
  state = training.initialize()
  rounds = []
  for _ in range(N_ROUNDS):
    output = training.next(state, clients)
    state = output.state
    rounds.append(floats(output.metrics['client_work']['train']))
    print(len(rounds), rounds[-1])
  state = evaluation.set_model_weights(evaluation.initialize(), training.get_model_weights(state))
  metrics = evaluation.next(state, clients).metrics['client_work']['eval']['current_round_metrics']
  history = {'clients': N_CLIENTS, 'rounds': rounds, 'evaluation': floats(metrics)}
  print('evaluation', history['evaluation'])
  with open(os.path.join(out, 'history.json'), 'w') as file:
    json.dump(history, file, indent=1)


if __name__ == '__main__':
  main()
