"""The stubs say what the extension module has, and all of it is described."""

import ast
import inspect
import pathlib

import federated_runtime as fr
from federated_runtime import _native

STUBS = ast.parse((pathlib.Path(fr.__file__).parent / "_native.pyi").read_text())


def parameters(function):
    """The parameters of a stub: name, kind, and whether there is a default."""
    of = function.args
    positional = len(of.args) - len(of.defaults)
    found = [(arg.arg, "positional", index >= positional) for index, arg in enumerate(of.args)]
    found += [(of.vararg.arg, "variadic", False)] if of.vararg else []
    found += [(arg.arg, "keyword", value is not None) for arg, value in zip(of.kwonlyargs, of.kw_defaults)]
    return [it for it in found if it[0] not in ("self", "cls")]


def signature(function):
    kinds = {inspect.Parameter.KEYWORD_ONLY: "keyword", inspect.Parameter.VAR_POSITIONAL: "variadic"}
    found = inspect.signature(function).parameters.values()
    found = [(it.name, kinds.get(it.kind, "positional"), it.default is not it.empty) for it in found]
    return [it for it in found if it[0] not in ("self", "cls")]


def test_the_stubs_are_those_of_the_module():
    public = {name for name in dir(_native) if not name.startswith("_")}
    stubs = {node.name: node for node in STUBS.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    assert set(stubs) == public
    for name, stub in stubs.items():
        found = getattr(_native, name)
        if isinstance(stub, ast.FunctionDef):
            assert parameters(stub) == signature(found), name
            continue
        members = {node.name: node for node in stub.body if isinstance(node, ast.FunctionDef)}
        operators = {"__new__", "__call__", "__getitem__"}
        assert {it for it in members if it not in operators} == {it for it in vars(found) if not it.startswith("_")}, name
        for member, node in members.items():
            if member == "__new__":
                assert parameters(node) == signature(found), name
            elif not node.decorator_list or ast.unparse(node.decorator_list[0]) != "property":
                # Python knows no parameters of operators of an extension type.
                if member not in operators:
                    assert parameters(node) == signature(getattr(found, member)), (name, member)


def test_everything_is_described():
    for name in fr.__all__:
        found = getattr(fr, name)
        assert inspect.getdoc(found), name
        if isinstance(found, type) and found.__module__.startswith("federated_runtime") and hasattr(_native, name):
            for member in vars(found):
                assert member.startswith("_") or inspect.getdoc(getattr(found, member)), (name, member)
