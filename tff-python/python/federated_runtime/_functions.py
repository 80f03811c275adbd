"""Python functions that this process has registered as leaves of computations."""

import threading
import uuid

_lock = threading.Lock()
_registered = {}


def register(function, label):
    """Registers a function of one argument or none; the name under which computations find it here.

    The name cannot be guessed, so that what a peer or a file says reaches no function unless it was given the
    computation.
    """
    name = f"{label}/{uuid.uuid4().hex}"
    with _lock:
        _registered[name] = function
    return name


def find(name):
    return _registered.get(name)


def named_in(data):
    """The functions that serialized computations name, by their names."""
    with _lock:
        return {name: function for name, function in _registered.items() if name.encode() in data}


def restore(functions):
    """Registers functions under the names that they have in another process."""
    with _lock:
        _registered.update(functions)
