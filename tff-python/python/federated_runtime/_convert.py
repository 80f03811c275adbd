"""Python objects as NumPy arrays: what the extension module leaves to NumPy."""

import numpy as np


def _describe(array):
    return f"an array of {array.dtype}{list(array.shape) if array.ndim else ''}"


def _dtype(name):
    if name == "bfloat16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(name)


def _kind(dtype):
    # bfloat16 is of NumPy's kind V.
    return {"u": "i", "V": "f"}.get(dtype.kind, dtype.kind)


def _cast(array, wanted, is_array):
    """The array with elements of type `wanted`, or None where they do not fit."""
    if array.dtype == wanted:
        return array
    found, kind = _kind(array.dtype), _kind(wanted)
    if is_array:
        # The rule of TFF: the same kind of numbers, and none is lost.
        fits = found == kind and np.can_cast(array.dtype, wanted)
        return array.astype(wanted) if fits else None
    if array.size == 0:
        return array.astype(wanted)
    # Python's own numbers have no size: they take the type, if they fit.
    if found == kind or (found, kind) in {("i", "f"), ("i", "c"), ("f", "c")}:
        with np.errstate(over="ignore"):
            cast = array.astype(wanted)
        if kind == "i":
            return cast if (cast == array).all() else None
        lost = np.isfinite(array) & ~np.isfinite(cast.astype(np.complex128))
        return None if lost.any() else cast
    return None


def array(value, dtype):
    """A C-contiguous array with at least one dimension, and the shape that `value` has; or what was found instead."""
    wanted = _dtype(dtype)
    is_array = hasattr(value, "dtype") or hasattr(value, "__array__") or hasattr(value, "__array_interface__")
    if isinstance(value, (str, bytes, dict)) or value is None:
        return describe(value)
    try:
        found = np.asarray(value)
    except Exception as error:  # pylint: disable=broad-exception-caught
        return f"{describe(value)}, which NumPy cannot make an array of ({error})"
    cast = _cast(found, wanted, is_array)
    if cast is None:
        return describe(value) if found.dtype == object else _describe(found) if found.ndim else describe(value)
    shape = cast.shape
    if dtype == "bfloat16":
        cast = cast.view(np.uint16)
    return np.ascontiguousarray(cast), shape


def strings(value):
    """The shape of an array of strings, and its elements as bytes in order; or what was found instead."""
    try:
        found = np.asarray(value)
        if found.dtype.kind not in "OSUT":
            return _describe(found)
        found = np.asarray(value, object)
    except Exception as error:  # pylint: disable=broad-exception-caught
        return f"{describe(value)}, which NumPy cannot make an array of ({error})"
    elements = []
    for element in found.ravel().tolist():
        if isinstance(element, str):
            element = element.encode()
        if not isinstance(element, bytes):
            return f"an array that holds {describe(element)}"
        elements.append(element)
    return found.shape, elements


def describe(value):
    """What a value is, in few words, for messages."""
    if value is None:
        return "None"
    kind = type(value)
    name = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    if isinstance(value, np.ndarray):
        return _describe(value)
    if isinstance(value, (bool, int, float, np.generic)):
        text = repr(value)
        return f"the {name} {text}" if len(text) < 60 else f"a large {name}"
    if isinstance(value, (list, tuple, dict)):
        return f"a {name} of {len(value)}"
    return f"a {name}" if kind.__module__ == "builtins" else f"a value of type {name}"


def is_immutable(array):
    """Whether nobody who follows NumPy's rules can write to the memory of an array."""
    while isinstance(array, np.ndarray):
        if array.flags.writeable:
            return False
        array = array.base
    if array is None:
        return True
    try:
        with memoryview(array) as memory:
            return memory.readonly
    except (TypeError, BufferError):
        return False


def _column(values):
    """A column of a table as an array, a column of lists as rows of equal length."""
    kind = type(values).__module__.split(".")[0]
    if kind == "pyarrow":
        import pyarrow as pa

        if isinstance(values, pa.ChunkedArray):
            values = values.combine_chunks()
        if isinstance(values, pa.ChunkedArray):
            values = pa.concat_arrays(values.chunks)
        if pa.types.is_fixed_size_list(values.type):
            size = values.type.list_size
            return _column(values.flatten()).reshape(len(values), size)
        if pa.types.is_list(values.type) or pa.types.is_large_list(values.type):
            sizes = set(values.value_lengths().to_pylist())
            if len(sizes) > 1 or None in sizes:
                raise ValueError(f"a column of {values.type} has rows of different lengths")
            return _column(values.flatten()).reshape(len(values), *sizes)
        if values.null_count:
            raise ValueError(f"a column of {values.type} has {values.null_count} missing values")
        return values.to_numpy(zero_copy_only=False)
    found = values.to_numpy() if hasattr(values, "to_numpy") else np.asarray(values)
    if found.dtype == object and len(found) and isinstance(found[0], (list, tuple, np.ndarray)):
        return np.stack([np.asarray(row) for row in found])
    return found


def columns(value):
    """The columns of a table (pandas, Arrow, Polars, a dataset of Hugging Face) by their names; None for others."""
    if hasattr(value, "column_names") and hasattr(value, "with_format"):
        # A dataset of Hugging Face.
        value = value.with_format("arrow")[:]
    if hasattr(value, "column_names") and hasattr(value, "column"):
        return {name: _column(value.column(name)) for name in value.column_names}
    if hasattr(value, "columns") and hasattr(value, "iloc"):
        return {name: _column(value[name]) for name in value.columns}
    if hasattr(value, "get_columns") and hasattr(value, "schema"):
        return {column.name: _column(column) for column in value.get_columns()}
    return None


def dataset(value):
    """The graph of a `tf.data.Dataset`, serialized; None for others."""
    if not hasattr(value, "_variant_tensor"):
        return None
    import tensorflow as tf

    graph = tf.raw_ops.DatasetToGraphV2(input_dataset=tf.data.experimental.to_variant(value))
    if tf.executing_eagerly():
        return graph.numpy()
    return tf.compat.v1.Session().run(graph)


def fields(value):
    """The fields of a dataclass or of attrs by their names; None for others."""
    import dataclasses

    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if hasattr(type(value), "__attrs_attrs__"):
        return {field.name: getattr(value, field.name) for field in type(value).__attrs_attrs__}
    return None
