"""Federated computations in process: those of TensorFlow Federated and of federated-language, and your own.

    import federated_runtime as fr

    total = fr.Computation.parse("(x:{int32}@CLIENTS -> %federated_sum(x))")
    fr.run(total, [1, 2, 3])   # np.int32(6)

What a computation takes and gives, by its types:

========================  =========================================================================================
``float32[2,?]``          takes a NumPy array, or whatever NumPy makes one of (lists, JAX, PyTorch, TensorFlow);
                          gives a read-only NumPy array, and a NumPy scalar for a scalar
``str``                   takes ``str`` and ``bytes``; gives ``bytes``
``<x=T,y=U>``             takes a mapping, a dataclass, a tuple; gives a ``dict``
``<T,U>``                 takes a tuple or a list; gives a ``tuple``
``T*``                    takes any iterable of elements, a ``tf.data.Dataset``, a table (pandas, Arrow, Polars,
                          Hugging Face) or a dict of columns; gives a ``list``
``T@SERVER``              takes and gives what ``T`` does
``{T}@CLIENTS``           takes and gives a ``list`` with one value for each client
========================  =========================================================================================

Arrays are copied when they are taken, unless they are read-only: later writes never change a result.
"""

import os as _os

from . import _native
from ._errors import (
    CompileError,
    ComputationError,
    DeadlineError,
    Error,
    LibraryError,
    MismatchError,
    RunError,
)
from ._native import Computation, Executor, Form, Problem, Program, Type, load
from ._run import default_executor, run, run_async
from .simulation import Clients, History, divide, simulate

# A forked process has none of the threads: what uses them is made anew there.
_os.register_at_fork(after_in_child=_native.after_fork)

__all__ = [
    "Clients",
    "CompileError",
    "Computation",
    "ComputationError",
    "DeadlineError",
    "Error",
    "Executor",
    "Form",
    "History",
    "LibraryError",
    "MismatchError",
    "Problem",
    "Program",
    "RunError",
    "Type",
    "default_executor",
    "divide",
    "load",
    "run",
    "run_async",
    "simulate",
]
