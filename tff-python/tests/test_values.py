"""Values from Python and back, by the identity function of each type."""

import collections
import dataclasses
import typing

import ml_dtypes
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import federated_runtime as fr


def there_and_back(ty, value, **options):
    return fr.run(fr.Computation.parse(f"(x:{ty} -> x)"), value, **options)


def check(ty, value, expected):
    found = there_and_back(ty, value)
    np.testing.assert_equal(found, expected)
    if isinstance(expected, (np.ndarray, np.generic)):
        assert found.dtype == expected.dtype and type(found) is type(expected)
    return found


@pytest.mark.parametrize(
    ("ty", "value", "expected"),
    [
        ("int32", 5, np.int32(5)),
        ("int8", -128, np.int8(-128)),
        ("uint64", 2**64 - 1, np.uint64(2**64 - 1)),
        ("float32", 1, np.float32(1)),
        ("float32", 0.1, np.float32(0.1)),
        ("float64", float("inf"), np.float64("inf")),
        ("float16", 1.5, np.float16(1.5)),
        ("bfloat16", 1.5, ml_dtypes.bfloat16(1.5)),
        ("complex64", 1 + 2j, np.complex64(1 + 2j)),
        ("complex128", 2, np.complex128(2)),
        ("bool", True, np.bool_(True)),
        ("str", "Zürich", "Zürich".encode()),
        ("str", b"\xff\x00", b"\xff\x00"),
        ("int32", np.int32(7), np.int32(7)),
        ("int32", np.int8(7), np.int32(7)),
        ("float32", np.array(2.5, np.float32), np.float32(2.5)),
        ("float64", np.float64(2.5), np.float64(2.5)),
        ("bfloat16[2]", np.array([1, 2], ml_dtypes.bfloat16), np.array([1, 2], ml_dtypes.bfloat16)),
        ("int32[2,2]", [[1, 2], [3, 4]], np.array([[1, 2], [3, 4]], np.int32)),
        ("float32[?]", [], np.array([], np.float32)),
        ("float32[0,3]", np.empty((0, 3), np.float32), np.empty((0, 3), np.float32)),
        ("float32[2]", (1, 2.5), np.array([1, 2.5], np.float32)),
        ("int32[2]", np.array([1, 2], ">i4").astype("i4"), np.array([1, 2], np.int32)),
        ("int32[2]", np.array([1, 2], ">i4"), np.array([1, 2], np.int32)),
        ("float32[2,3]", np.arange(6, dtype=np.float32).reshape(3, 2).T, np.array([[0, 2, 4], [1, 3, 5]], np.float32)),
        ("int64[3]", np.arange(6)[::2], np.array([0, 2, 4])),
        ("str[2]", ["a", b"b"], np.array([b"a", b"b"], object)),
        ("str[2]", np.array(["a", "bc"]), np.array([b"a", b"bc"], object)),
        ("float32[2]", pa.array([1, 2], pa.float32()), np.array([1, 2], np.float32)),
        ("int64[2]", pd.Series([1, 2]), np.array([1, 2])),
    ],
)
def test_tensors(ty, value, expected):
    check(ty, value, expected)


@pytest.mark.parametrize(
    ("ty", "value", "found"),
    [
        ("int32", 2.5, "the float 2.5"),
        ("int32", True, "the bool True"),
        ("int32", 2**31, f"the int {2**31}"),
        ("int32", "5", "a str"),
        ("int32", None, "None"),
        ("float32", 1e39, "the float 1e+39"),
        ("bool", 1, "the int 1"),
        ("int32[2]", [1.0, 2.5], "an array of float64[2]"),
        ("int8[1]", [1000], "an array of int64[1]"),
        ("float32[1]", [1e39], "an array of float64[1]"),
        ("float32[2]", np.zeros(2), "an array of float64[2]"),
        ("float32[2]", np.zeros(3, np.float32), "float32[3]"),
        ("float32[2]", [[1, 2], [3]], "a list of 2, which NumPy cannot make an array of"),
        ("str", 5, "an array of int64"),
        ("str[2]", ["a", 5], "the int 5"),
    ],
)
def test_tensors_that_do_not_fit(ty, value, found):
    with pytest.raises(fr.MismatchError) as caught:
        there_and_back(ty, value)
    assert caught.value.path == "argument"
    assert caught.value.expected == ty
    assert found in caught.value.found
    assert isinstance(caught.value, TypeError)


@dataclasses.dataclass
class Point:
    y: float
    x: int


class Pair(typing.NamedTuple):
    x: int
    y: float


class WithAttributes:
    x = 1
    y = 2.0


@pytest.mark.parametrize(
    "value",
    [
        {"x": 1, "y": 2.0},
        {"y": 2.0, "x": 1},
        collections.OrderedDict(y=2.0, x=1),
        (1, 2.0),
        [1, 2.0],
        Pair(1, 2.0),
        Point(y=2.0, x=1),
        WithAttributes(),
        iter([1, 2.0]),
    ],
)
def test_structs(value):
    check("<x=int32,y=float32>", value, {"x": np.int32(1), "y": np.float32(2)})


def test_structs_without_all_names():
    assert there_and_back("<>", ()) == ()
    assert there_and_back("<int32,str>", [1, "a"]) == (1, b"a")
    assert there_and_back("<a=int32,str>", (1, "a")) == {"a": 1, 1: b"a"}
    assert there_and_back("<a=int32,str>", {"a": 1, 1: b"a"}) == {"a": 1, 1: b"a"}


@pytest.mark.parametrize(
    ("ty", "value", "path", "expected", "found"),
    [
        ("<x=int32,y=int32>", {"x": 1}, "argument.y", "int32", "nothing"),
        ("<x=int32>", {"x": 1, "z": 2}, "argument", "<x=int32>", "fields x, z"),
        ("<x=int32,y=int32>", (1,), "argument", "<x=int32,y=int32>", "a tuple of 1"),
        ("<x=<int32,int32>>", {"x": (1, "a")}, "argument.x[1]", "int32", "a str"),
        ("<x=int32,y=int32>", "ab", "argument", "<x=int32,y=int32>", "a str"),
        ("{<x=int32>*}@CLIENTS", [[], [{"x": 1}, {"x": 0.5}]], "argument[1][1].x", "int32", "the float 0.5"),
        ("{int32}@CLIENTS", 5, "argument", "a list with a value of int32 for each client", "the int 5"),
        ("{int32}@CLIENTS", {"a": 5}, "argument", "a list with a value of int32 for each client", "a dict of 1"),
        ("int32*", "abc", "argument", "int32*", "a str"),
    ],
)
def test_the_place_of_what_does_not_fit(ty, value, path, expected, found):
    with pytest.raises(fr.MismatchError) as caught:
        there_and_back(ty, value)
    assert (caught.value.path, caught.value.expected, caught.value.found) == (path, expected, found)


def test_placements():
    check("int32@SERVER", 3, np.int32(3))
    check("{int32}@CLIENTS", [1, 2], [np.int32(1), np.int32(2)])
    check("{int32}@CLIENTS", np.array([1, 2], np.int32), [np.int32(1), np.int32(2)])
    check("{int32}@CLIENTS", [], [])
    check("int32@CLIENTS", 3, np.int32(3))


BATCHES = "<x=float32[?,2],y=int32[?]>*"
ROWS = "<x=float32[2],y=int32>*"
X = np.arange(6, dtype=np.float32).reshape(3, 2)
Y = np.arange(3, dtype=np.int32)


def test_sequences_of_batches():
    expected = [{"x": X, "y": Y}, {"x": X[:1], "y": Y[:1]}]
    check(BATCHES, [(X, Y), (X[:1], Y[:1])], expected)
    check(BATCHES, ((X[:n], Y[:n]) for n in (3, 1)), expected)
    check(BATCHES, {"x": X, "y": Y}, expected[:1])
    frame = pd.DataFrame({"x": list(X), "y": Y})
    check(BATCHES, frame, expected[:1])
    check(BATCHES, [frame, frame[:1]], expected)


@pytest.mark.parametrize(
    "table",
    [
        {"x": X, "y": Y},
        pd.DataFrame({"x": list(X), "y": Y}),
        pa.table({"y": Y, "x": pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), 2)}),
        pa.table({"y": Y, "x": pa.array(list(X))}),
        pa.table({"y": Y, "x": pa.array(list(X))}).to_batches()[0],
    ],
    ids=["dict", "pandas", "arrow", "lists", "batch"],
)
def test_rows_of_tables(table):
    columns = {"x": X, "y": Y}
    expected = [{"x": x, "y": y} for x, y in zip(X, Y)]
    if isinstance(table, (pa.Table, pa.RecordBatch)):
        table = table.select(["x", "y"])
    check(ROWS, table, expected)
    assert columns["x"] is X


def test_rows_of_arrays():
    check("float32[2]*", X, list(X))
    check("int32*", Y, list(Y))
    check("int32*", range(3), list(Y))
    check("str*", pd.Series(["a", "b"]), [b"a", b"b"])


def test_tables_that_do_not_fit():
    with pytest.raises(fr.MismatchError, match=r"argument\.y: expected int32, found no such column"):
        there_and_back(ROWS, {"x": X})
    with pytest.raises(fr.MismatchError, match=r"argument\.y: expected 3 rows, found 2 rows"):
        there_and_back(ROWS, {"x": X, "y": Y[:2]})
    with pytest.raises(ValueError, match="1 missing values"):
        there_and_back(ROWS, pa.table({"x": pa.array(list(X)), "y": pa.array([1, None, 3], pa.int32())}))


def test_what_a_users_iterator_raises_comes_through():
    def elements():
        yield 1
        raise KeyError("gone")

    with pytest.raises(KeyError, match="gone") as caught:
        there_and_back("<a=int32*>", {"a": elements()})
    assert caught.value.__notes__ == ["while argument.a[1] was read"] or caught.value.__notes__ == [
        "while argument.a was read"
    ]


def test_a_result_does_not_change_with_the_argument():
    array = np.zeros(10_000, np.float32)
    result = there_and_back("float32[10000]", array)
    array[:] = 1
    assert result[0] == 0
    # Not even where the array that is given looks read-only.
    view = array.view()
    view.flags.writeable = False
    result = there_and_back("float32[10000]", view)
    array[:] = 2
    assert result[0] == 1
    result = there_and_back("float32[100,10000]", np.broadcast_to(array, (100, 10_000)))
    array[:] = 3
    assert (result == 2).all()


def test_read_only_arrays_are_shared():
    array = np.zeros(10_000, np.float32)
    array.flags.writeable = False
    result = there_and_back("float32[10000]", array)
    assert np.shares_memory(array, result) and not result.flags.writeable
    again = there_and_back("float32[100,100]", result.reshape(100, 100))
    assert np.shares_memory(again, result)
    with pytest.raises(ValueError, match="read-only"):
        result[0] = 1


def test_shared_memory_outlives_the_argument():
    array = np.full(100_000, 7, np.int32)
    array.flags.writeable = False
    result = there_and_back("int32[100000]", array)
    del array
    assert (result == 7).all()
