"""What TFF's own Python client gets from the worker that it launches, or in process: see run.sh."""

import collections
import os
import subprocess

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_federated as tff

VERSION = tuple(int(part) for part in tff.__version__.split('.')[:2])


IN_PROCESS = 'TFF_IN_PROCESS' in os.environ


@pytest.fixture(autouse=True, params=['in process'] if IN_PROCESS else ['whole', 'streamed'])
def context(request):
  """That of the Python package, or a local one, with and without structs sent piece by piece."""
  if IN_PROCESS:
    import federated_runtime.tff

    federated_runtime.tff.set_default_context()
    return
  tff.backends.native.set_sync_local_cpp_execution_context(
      default_num_clients=0, stream_structs=request.param == 'streamed'
  )


def at_clients(member):
  return tff.FederatedType(member, tff.CLIENTS)


def at_server(member):
  return tff.FederatedType(member, tff.SERVER)


@tff.tensorflow.computation(np.int32)
def add_one(x):
  return x + 1


@tff.tensorflow.computation(np.int32, np.int32)
def add(x, y):
  return x + y


def test_version():
  assert VERSION in ((0, 80), (0, 87))


def test_tensorflow_call():
  assert add_one(41) == 42
  assert add(2, 3) == 5


@pytest.mark.parametrize('values', [[1, 2, 3], [7]])
def test_sum_min_max(values):
  @tff.federated_computation(at_clients(np.int32))
  def total(x):
    return tff.federated_sum(x)

  assert total(values) == sum(values)
  if VERSION >= (0, 87):

    @tff.federated_computation(at_clients(np.int32))
    def extremes(x):
      return tff.federated_min(x), tff.federated_max(x)

    assert tuple(extremes(values)) == (min(values), max(values))


def test_no_clients():
  @tff.federated_computation(at_clients(np.int32))
  def total(x):
    return tff.federated_sum(x)

  assert total([]) == 0


def test_means():
  @tff.federated_computation(at_clients(np.float32), at_clients(np.float32))
  def means(x, w):
    return tff.federated_mean(x), tff.federated_mean(x, w)

  mean, weighted = means([1.0, 2.0, 6.0], [1.0, 0.0, 3.0])
  assert mean == pytest.approx(3.0)
  assert weighted == pytest.approx(19.0 / 4.0)


def test_broadcast_map_zip():
  @tff.federated_computation(at_clients(np.int32), at_server(np.int32))
  def shifted(x, y):
    return tff.federated_map(add, tff.federated_zip((x, tff.federated_broadcast(y))))

  assert [int(v) for v in shifted([1, 2, 3], 10)] == [11, 12, 13]


def test_structs():
  member = collections.OrderedDict(b=tff.TensorType(np.float32, [2]), a=np.int32)
  value = collections.OrderedDict(b=np.array([1, 2], np.float32), a=np.int32(3))

  @tff.federated_computation(at_clients(member))
  def total(x):
    return tff.federated_sum(x)

  result = total([value, value])
  assert result['b'].tolist() == [2.0, 4.0] and result['a'] == 6


def test_strings():
  @tff.tensorflow.computation(np.str_)
  def greet(s):
    return tf.strings.join(['hello ', s])

  assert greet('world') == b'hello world'

  @tff.tensorflow.computation(tff.TensorType(np.str_, [3]))
  def lengths(s):
    return tf.strings.length(s)

  assert lengths(np.array(['a', 'bb', ''], np.str_)).tolist() == [1, 2, 0]


@pytest.mark.parametrize(
    'dtype', [np.bool_, np.int8, np.int64, np.uint16, np.uint64, np.float16, np.float64, np.complex64]
)
def test_dtypes(dtype):
  @tff.tensorflow.computation(tff.TensorType(dtype, [2, 1]))
  def identity(x):
    return tf.identity(x)

  value = np.array([[0], [1]], dtype)
  result = np.asarray(identity(value))
  assert result.dtype == value.dtype and result.tolist() == value.tolist()


def test_sequences():
  @tff.tensorflow.computation(tff.SequenceType(np.float32))
  def total(ds):
    return ds.reduce(np.float32(0), lambda x, y: x + y)

  @tff.federated_computation(at_clients(tff.SequenceType(np.float32)))
  def totals(x):
    return tff.federated_map(total, x)

  assert [float(v) for v in totals([[1.0, 2.0], [3.0], []])] == [3.0, 3.0, 0.0]


def test_sequence_reduce():
  @tff.federated_computation(tff.SequenceType(np.int32))
  def total(s):
    return tff.sequence_reduce(s, 0, add)

  assert total([1, 2, 3]) == 6


def test_select():
  @tff.tensorflow.computation(tff.TensorType(np.float32, [4]), np.int32)
  def pick(table, key):
    return table[key]

  @tff.tensorflow.computation(tff.SequenceType(np.float32))
  def total(ds):
    return ds.reduce(np.float32(0), lambda x, y: x + y)

  @tff.federated_computation(
      at_clients(tff.TensorType(np.int32, [2])), at_server(np.int32), at_server(tff.TensorType(np.float32, [4]))
  )
  def selected(keys, max_key, table):
    return tff.federated_map(total, tff.federated_select(keys, max_key, table, pick))

  table = np.array([10, 11, 12, 13], np.float32)
  keys = [np.array([0, 3], np.int32), np.array([2, 2], np.int32)]
  assert [float(v) for v in selected(keys, 4, table)] == [23.0, 24.0]


def test_federated_averaging_learns():
  spec = (tf.TensorSpec([None, 2], tf.float32), tf.TensorSpec([None, 1], tf.float32))

  @tf.function
  def predict(weights, x, training=True):
    return tf.matmul(x, weights[0][0])

  @tf.function
  def loss(output, label, sample_weight=None):
    return tf.reduce_mean(tf.square(output - label))

  model = tff.learning.models.FunctionalModel(
      initial_weights=((np.zeros([2, 1], np.float32),), ()),
      predict_on_batch_fn=predict,
      loss_fn=loss,
      input_spec=spec,
  )
  process = tff.learning.algorithms.build_weighted_fed_avg(
      model,
      client_optimizer_fn=tff.learning.optimizers.build_sgdm(0.1),
      server_optimizer_fn=tff.learning.optimizers.build_sgdm(1.0),
  )
  rng = np.random.default_rng(1)
  truth = np.array([[1.0], [-2.0]], np.float32)

  def client(n):
    x = rng.normal(size=[n, 2]).astype(np.float32)
    return tf.data.Dataset.from_tensor_slices((x, x @ truth)).batch(4)

  data = [client(n) for n in (8, 12, 5)]
  state = process.initialize()
  for _ in range(15):
    state = process.next(state, data).state
  learned = process.get_model_weights(state).trainable[0]
  np.testing.assert_allclose(learned, truth, atol=0.05)


def test_jax():
  jax_computation = tff.jax.computation if VERSION >= (0, 87) else tff.jax_computation
  vector = tff.TensorType(np.float32, [3])

  @jax_computation(vector, np.float32)
  def scale(x, factor):
    return x * factor

  assert scale(np.array([1, 2, 3], np.float32), 2.0).tolist() == [2.0, 4.0, 6.0]

  @tff.federated_computation(at_clients(vector), at_server(np.float32))
  def total_and_mean(x, factor):
    scaled = tff.federated_map(scale, (x, tff.federated_broadcast(factor)))
    return tff.federated_sum(scaled), tff.federated_mean(scaled)

  values = [np.array([1, 2, 3], np.float32), np.array([3, 0, 1], np.float32)]
  total, mean = total_and_mean(values, 10.0)
  assert total.tolist() == [40.0, 20.0, 40.0]
  assert mean.tolist() == [20.0, 10.0, 20.0]


def test_a_failing_graph_is_an_error_and_the_worker_goes_on():
  @tff.tensorflow.computation(tff.TensorType(np.float32, [None]))
  def reshaped(x):
    return tf.reshape(x, [1, 1])

  with pytest.raises(Exception, match='(?i)reshape'):
    reshaped(np.zeros([10], np.float32))
  assert add_one(1) == 2


@pytest.mark.skipif(IN_PROCESS, reason='The worker is told by a flag where data is.')
@pytest.mark.skipif(VERSION < (0, 87), reason='TFF 0.87 is the one that this is said of.')
@pytest.mark.parametrize('stream_structs', [False, True])
def test_data_of_named_sources(tmp_path, monkeypatch, stream_structs):
  (tmp_path / 'ann.csv').write_text('x\n1\n2\n')
  (tmp_path / 'bob.csv').write_text('x\n40\n')

  class Popen(subprocess.Popen):

    def __init__(self, args, **kwargs):
      super().__init__([*args, f'--data=people={tmp_path}'], **kwargs)

  monkeypatch.setattr(subprocess, 'Popen', Popen)
  context = tff.backends.native.create_sync_local_cpp_execution_context(stream_structs=stream_structs)
  rows = tff.SequenceType(collections.OrderedDict(x=np.int32))

  @tff.federated_computation(at_clients(rows))
  def totals(data):
    sums = tff.federated_map(tff.federated_computation(lambda rows: tff.sequence_sum(rows), rows), data)
    return sums, tff.federated_sum(sums)

  def call(uris):
    return context.invoke(totals, tff.framework.CreateDataDescriptor(uris, rows))

  sums, total = call(['people/bob', 'people/ann', 'people/bob'])
  assert [element['x'] for element in sums] == [40, 3, 40]
  assert total['x'] == 83
  with pytest.raises(Exception, match='people/eve.*expected a client of people, found eve'):
    call(['people/ann', 'people/eve'])
