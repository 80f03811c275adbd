"""What TFF's own Python client gets from the Python package, in process: see run.sh."""

import asyncio
import collections

import federated_runtime as fr
import federated_runtime.tff
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_federated as tff


def datasets():
  rng = np.random.default_rng(0)

  def client(_):
    x = rng.normal(size=(40, 8)).astype(np.float32)
    y = (x.sum(1) > 0).astype(np.int32)
    return tf.data.Dataset.from_tensor_slices((x, y)).batch(10)

  return [client(index) for index in range(5)]


DATA = datasets()


def model_fn():
  model = tf.keras.Sequential([
      tf.keras.layers.InputLayer(input_shape=(8,)),
      tf.keras.layers.Dense(16, 'relu', kernel_initializer=tf.keras.initializers.GlorotUniform(seed=1)),
      tf.keras.layers.Dense(2, kernel_initializer='zeros'),
  ])
  return tff.learning.models.from_keras_model(
      model,
      input_spec=DATA[0].element_spec,
      loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
      metrics=[tf.keras.metrics.SparseCategoricalAccuracy()],
  )


@pytest.fixture(scope='module')
def process():
  return tff.learning.algorithms.build_weighted_fed_avg(
      model_fn,
      client_optimizer_fn=tff.learning.optimizers.build_sgdm(0.1),
      server_optimizer_fn=tff.learning.optimizers.build_adam(0.1),
  )


def rounds(process):
  state, metrics = process.initialize(), []
  for _ in range(3):
    result = process.next(state, DATA)
    state = result.state
    metrics.append({name: float(value) for name, value in result.metrics['client_work']['train'].items()})
  return process.get_model_weights(state).trainable, metrics


def test_learning_with_keras_equals_a_worker(process):
  federated_runtime.tff.set_default_context()
  weights, metrics = rounds(process)
  tff.backends.native.set_sync_local_cpp_execution_context()
  expected_weights, expected = rounds(process)
  for found, wanted in zip(metrics, expected, strict=True):
    assert found == pytest.approx(wanted, rel=1e-5)
  for found, wanted in zip(weights, expected_weights, strict=True):
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_programs(process):
  context = tff.program.NativeFederatedContext(federated_runtime.tff.AsyncContext())
  tff.framework.set_default_context(context)

  async def main():
    result = process.next(process.initialize(), DATA)
    return await tff.program.materialize_value(result.metrics)

  metrics = asyncio.run(main())
  assert metrics['client_work']['train']['num_examples'] == 200


def test_simulations(process):
  federated_runtime.tff.set_default_context()
  _, expected = rounds(process)

  class Process:
    initialize, next = process.initialize, staticmethod(process.next)

  history = fr.simulate(Process, dict(enumerate(DATA)), rounds=3, progress=False)
  for found, wanted in zip(history, expected, strict=True):
    assert found['metrics']['client_work.train.loss'] == pytest.approx(wanted['loss'], rel=1e-5)


def test_datasets_that_only_this_process_has():
  federated_runtime.tff.set_default_context()

  @tff.federated_computation(tff.FederatedType(tff.SequenceType(np.int32), tff.CLIENTS))
  def total(numbers):
    return tff.federated_sum(tff.federated_map(tff.tensorflow.computation(
        lambda it: it.reduce(np.int32(0), lambda a, b: a + b), tff.SequenceType(np.int32)), numbers))

  def generated():
    yield from (1, 2, 3)

  data = tf.data.Dataset.from_generator(generated, output_signature=tf.TensorSpec([], tf.int32))
  doubled = data.map(lambda x: tf.ensure_shape(tf.numpy_function(lambda it: np.int32(2 * it), [x], tf.int32), []))
  assert total([data, doubled]) == 18


def test_the_worker_of_the_package():
  federated_runtime.tff.use_worker()
  tff.backends.native.set_sync_local_cpp_execution_context()

  @tff.federated_computation(tff.FederatedType(np.int32, tff.CLIENTS))
  def total(values):
    return tff.federated_sum(values)

  assert total([1, 2, 3]) == 6
