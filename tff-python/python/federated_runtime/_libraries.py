"""Where the native libraries are: in the packages that are installed, unless the environment names others."""

import importlib.util
import os
import pathlib

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
    """The PJRT plugin of an installed package; None where there is none, or ``TFF_PJRT_PLUGIN`` names one."""
    if os.environ.get("TFF_PJRT_PLUGIN"):
        return None
    for name, file in _PLUGINS:
        folder = _package(name)
        if folder is not None and (folder / file).is_file():
            return folder / file
    return None


def tensorflow():
    """The libtensorflow of the installed TensorFlow; None where there is none, or ``TENSORFLOW_DIR`` names one."""
    if os.environ.get("TENSORFLOW_DIR"):
        return None
    folder = _package("tensorflow")
    if folder is None:
        return None
    found = sorted(folder.glob("libtensorflow_cc.*"))
    return found[0] if found else None


def export():
    """Names the installed libraries in the environment, for the commands, which look there."""
    plugin, library = pjrt(), tensorflow()
    if plugin is not None:
        os.environ["TFF_PJRT_PLUGIN"] = str(plugin)
    if library is not None:
        os.environ["TENSORFLOW_DIR"] = str(library.parent)
