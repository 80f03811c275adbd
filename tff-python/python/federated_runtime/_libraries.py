"""Where the native libraries are: in the packages that are installed, unless the environment names others."""

import importlib.util
import os
import pathlib
import sys

# Packages with a PJRT plugin for CPUs, and the plugin in each; the extra `xla` installs the first.
_PLUGINS = (("lammps_jax_pjrt_cpu", "pjrt_c_api_cpu_plugin.so"),)


def _package(name):
    """The folder of a package, without importing it; None where it is not installed."""
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None
    if spec is None or not spec.submodule_search_locations:
        return None
    return pathlib.Path(next(iter(spec.submodule_search_locations)))


def pjrt():
    """The PJRT plugin that ``TFF_PJRT_PLUGIN`` names, or that of an installed package; None where there is none."""
    named = os.environ.get("TFF_PJRT_PLUGIN")
    if named:
        return pathlib.Path(named)
    for name, file in _PLUGINS:
        folder = _package(name)
        if folder is not None and (folder / file).is_file():
            return folder / file
    return None


def tensorflow():
    """The libtensorflow that ``TENSORFLOW_DIR`` names, or that of the installed TensorFlow.

    None where there is none, and where the process has loaded one: it can have no other.
    """
    if "tensorflow" in sys.modules:
        return None
    named = os.environ.get("TENSORFLOW_DIR")
    if named:
        return pathlib.Path(named)
    folder = _package("tensorflow")
    if folder is None:
        return None
    return next(iter(sorted(folder.glob("libtensorflow_cc.*"))), None)


def export():
    """Names the installed libraries in the environment, for the commands, which look there."""
    for name, path in (("TFF_PJRT_PLUGIN", pjrt()), ("TENSORFLOW_DIR", tensorflow())):
        if path is not None:
            os.environ[name] = str(path)
    # Otherwise the libraries log what they return as errors too.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
