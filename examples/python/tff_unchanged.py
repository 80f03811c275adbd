"""A program of TensorFlow Federated 0.87; the two lines with `federated_runtime` make it run here, in process.

    pip install federated-runtime        # beside TensorFlow Federated, which needs Python 3.11 or older
    python tff_unchanged.py
"""

import federated_runtime.tff
import tensorflow as tf
import tensorflow_federated as tff

federated_runtime.tff.set_default_context()


@tff.tensorflow.computation(tff.SequenceType(tf.float32))
def mean(temperatures):
    total = temperatures.reduce(tf.constant([0.0, 0.0]), lambda sums, it: sums + tf.stack([it, 1.0]))
    return total[0] / total[1]


@tff.federated_computation(tff.FederatedType(tff.SequenceType(tf.float32), tff.CLIENTS))
def mean_of_means(temperatures):
    return tff.federated_mean(tff.federated_map(mean, temperatures))


clients = [tf.data.Dataset.from_tensor_slices([68.5, 70.5]), tf.data.Dataset.from_tensor_slices([71.5])]
print(mean_of_means(clients))
