"""A program of federated-language; the two lines with `federated_runtime` are all that it needs to run.

    pip install federated-runtime federated-language
    python federated_language_unchanged.py
"""

import federated_language as fl
import federated_runtime.federated_language
import numpy as np

federated_runtime.federated_language.set_default_context()


@fl.federated_computation(fl.FederatedType(np.float32, fl.CLIENTS), fl.FederatedType(np.float32, fl.CLIENTS))
def weighted_mean(values, weights):
    return fl.federated_mean(values, weights)


print(weighted_mean([68.5, 70.0, 71.5], [1.0, 1.0, 2.0]))
