"""Computations, types, programs and executors."""

import asyncio
import gc
import os
import pathlib
import pickle
import signal
import socket
import subprocess
import sys
import sysconfig
import tempfile
import threading
import weakref

import numpy as np
import pytest

import federated_runtime as fr

TOTAL = "(x:{int32}@CLIENTS -> %federated_sum(x))"


def parse(text):
    return fr.Computation.parse(text)


def test_types():
    ty = fr.Type("(<a={float32[?,3]}@CLIENTS,int32*@SERVER> -> str)")
    assert str(ty) == "(<a={float32[?,3]}@CLIENTS,int32*@SERVER> -> str)"
    assert repr(ty.result) == "Type('str')"
    (a, clients), (none, server) = ty.parameter.elements
    assert (a, none) == ("a", None)
    assert (clients.placement, clients.all_equal, server.placement, server.all_equal) == ("CLIENTS", False, "SERVER", True)
    assert (clients.member.dtype, clients.member.shape) == ("float32", [None, 3])
    assert server.member.element == fr.Type("int32") and hash(server.member.element) == hash(fr.Type("int32"))
    assert fr.Type.from_bytes(ty.to_bytes()) == ty
    assert fr.Type("int32[?]").is_assignable_from(fr.Type("int32[2]"))
    assert not fr.Type("int32[2]").is_assignable_from(fr.Type("int32[?]"))
    assert {it.kind for it in (ty, ty.parameter, clients, clients.member, server.member)} == {
        "function", "struct", "federated", "tensor", "sequence",
    }
    with pytest.raises(fr.ComputationError):
        fr.Type("int32[")
    with pytest.raises(fr.ComputationError):
        fr.Type.from_bytes(b"\xff\xff")


def test_computations():
    comp = parse(TOTAL)
    assert str(comp.type) == "({int32}@CLIENTS -> int32@SERVER)"
    assert comp.print("compact") == "(x -> federated_sum(x))"
    assert parse(comp.print()).to_bytes() == comp.to_bytes()
    assert fr.Computation.from_bytes(comp.to_bytes()).to_bytes() == comp.to_bytes()
    assert pickle.loads(pickle.dumps(comp)).to_bytes() == comp.to_bytes()
    assert comp.check() == []
    assert "federated_aggregate" in comp.compile().print("compact")
    assert fr.Computation.parse("(x -> x.a)", parameter=fr.Type("<a=int32>")).type == fr.Type("(<a=int32> -> int32)")
    with pytest.raises(ValueError, match="style"):
        comp.print("poem")


def test_computations_that_are_wrong():
    with pytest.raises(fr.ComputationError, match="^1:15: expected `->`"):
        parse("(x:int32 -> (y))")
    with pytest.raises(fr.ComputationError):
        fr.Computation.from_bytes(b"\x0a\xff")
    free = fr.Computation.parse("(x:int32 -> y)", names={"y": fr.Type("int32")})
    (problem,) = free.check()
    assert (problem.severity, problem.code) == ("error", "unbound-reference")
    with pytest.raises(fr.Error, match="unbound"):
        fr.run(free, 1)


def test_files(tmp_path, programs, examples):
    assert fr.run(fr.load(programs / "total.pb"), [1, 2, 3]) == 6
    (tmp_path / "total.tff").write_text(TOTAL)
    assert fr.run(fr.load(str(tmp_path / "total.tff")), [1, 2, 3]) == 6
    assert fr.load(examples / "temperatures" / "above.tff").type == fr.load(examples / "temperatures" / "above.pb").type
    with pytest.raises(FileNotFoundError, match="missing.pb"):
        fr.load(tmp_path / "missing.pb")
    (tmp_path / "wrong.tff").write_text("(x:int32 -> y)")
    with pytest.raises(fr.ComputationError, match="wrong.tff:1:13"):
        fr.load(tmp_path / "wrong.tff")


def test_forms(tmp_path, examples):
    round_of_digits = fr.load(examples / "digits-jax" / "next.pb")
    form = round_of_digits.to_form("mergeable")
    assert form.kind == "mergeable" and list(form.parts) == ["up_to_merge", "merge", "after_merge"]
    form.save(tmp_path / "form")
    again = fr.Form.load(tmp_path / "form")
    assert {role: part.to_bytes() for role, part in again.parts.items()} == {
        role: part.to_bytes() for role, part in form.parts.items()
    }
    assert fr.load(tmp_path / "form").type.is_assignable_from(again.to_computation().type)
    with pytest.raises(fr.ComputationError, match="new or empty"):
        form.save(tmp_path / "form")
    with pytest.raises(ValueError, match="'map-reduce'"):
        round_of_digits.to_form("sonnet")
    with pytest.raises(fr.CompileError):
        parse("(x:int32 -> x)").to_form("map-reduce")


def test_calls():
    program = fr.Executor(threads=2).prepare(parse(TOTAL))
    assert program([1, 2, 3]) == 6
    assert type(program([1, 2, 3])) is np.int32
    assert program(list(range(1000))) == 499_500
    assert fr.run(program, [5]) == 5
    assert fr.run(parse("<a=lit int32 1,b=lit int32 2>")) == {"a": 1, "b": 2}
    two = parse("(x:<a=int32,b=str> -> <x.b,x.a>)")
    assert fr.run(two, 1, "c") == (b"c", 1)
    clients = parse("(x:int32@SERVER -> %federated_broadcast(x))")
    assert fr.run(clients, 3, n_clients=2) == 3


def test_calls_that_are_wrong():
    with pytest.raises(fr.MismatchError, match="missing argument"):
        fr.run(parse(TOTAL))
    with pytest.raises(fr.MismatchError, match="unexpected argument"):
        fr.run(parse("( -> lit int32 1)"), 5)
    with pytest.raises(fr.MismatchError, match="expected 2 values at CLIENTS, found 3") as caught:
        fr.run(parse("(x:<{int32}@CLIENTS,{int32}@CLIENTS> -> x)"), [1, 2], [1, 2, 3])
    assert (caught.value.expected, caught.value.found) == ("2", "3")
    assert "argument" in caught.value.path
    with pytest.raises(fr.MismatchError):
        fr.run(parse(TOTAL), [1, 2], n_clients=3)


def test_results_of_threads_and_their_programs():
    program = fr.default_executor().prepare(parse(TOTAL))
    failures = []

    def work(offset):
        for index in range(50):
            if program([offset, index]) != offset + index:
                failures.append((offset, index))

    threads = [threading.Thread(target=work, args=(offset,)) for offset in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_event_loops():
    async def main():
        # A plain call works under a running loop, as in a notebook.
        assert fr.run(parse(TOTAL), [1]) == 1
        return await asyncio.gather(*(fr.run_async(parse(TOTAL), [number, 1]) for number in range(10)))

    assert asyncio.run(main()) == [number + 1 for number in range(10)]


def test_programs_are_freed():
    # The default executor keeps no computation that nobody holds.
    comp = parse(TOTAL)
    fr.run(comp, [1])
    gone = weakref.ref(comp)
    del comp
    gc.collect()
    assert gone() is None


def run_python(code, **options):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, **options)


def test_importing_is_light():
    code = (
        "import sys; before = set(sys.modules); import federated_runtime; "
        "print([name for name in ('numpy', 'asyncio', 'tensorflow', 'jax', 'pandas') if name in sys.modules])"
    )
    done = run_python(code)
    assert done.stdout.strip() == "[]", done.stderr


FORK = """
import federated_runtime as fr, os, sys
comp = fr.Computation.parse({text!r})
program = fr.default_executor().prepare(comp)
print(program(list(range(100))), flush=True)
child = os.fork()
if child == 0:
    print(program(list(range(100))), fr.run(comp, [1, 2]), fr.Executor(threads=2).prepare(comp)([3]), flush=True)
    os._exit(0)
_, status = os.waitpid(child, 0)
print(status, program(list(range(100))))
"""


def test_forked_processes():
    done = run_python(FORK.format(text=TOTAL))
    assert done.stdout.split() == ["4950", "4950", "3", "3", "0", "4950"], done.stderr


def test_processes_that_were_forked_and_spawned():
    code = """
import multiprocessing, sys
import federated_runtime as fr

TEXT = {text!r}

def work(number):
    return int(fr.run(fr.Computation.parse(TEXT), [number, 1]))

if __name__ == "__main__":
    print(work(0))
    for method in ("fork", "spawn"):
        with multiprocessing.get_context(method).Pool(2) as pool:
            print(pool.map(work, range(4)))
"""
    with tempfile.NamedTemporaryFile("w", suffix=".py", delete=False) as file:
        file.write(code.format(text=TOTAL))
    try:
        done = subprocess.run([sys.executable, file.name], capture_output=True, text=True, timeout=120)
    finally:
        os.unlink(file.name)
    assert done.stdout.splitlines() == ["1", "[1, 2, 3, 4]", "[1, 2, 3, 4]"], done.stderr
def test_the_environment_stays_as_it_is(examples):
    code = f"""
import federated_runtime as fr, os, subprocess, sys
before = subprocess.run([sys.executable, "-c", "import os; print(sorted(os.environ))"], capture_output=True).stdout
fr.run(fr.load({str(examples / "temperatures" / "above.pb")!r}), {{"x": [68.5, 70.0, 71.25], "t": 69.0}})
after = subprocess.run([sys.executable, "-c", "import os; print(sorted(os.environ))"], capture_output=True).stdout
print(before == after)
"""
    done = run_python(code)
    assert done.stdout.strip() == "True", done.stderr




def test_missing_libraries(examples):
    code = """
import federated_runtime as fr, sys
try:
    fr.run(fr.load(sys.argv[1]), *eval(sys.argv[2]))
except fr.LibraryError as error:
    print(error)
"""
    environment = {name: value for name, value in os.environ.items() if name not in ("TENSORFLOW_DIR", "TFF_PJRT_PLUGIN")}
    calls = {
        "tensorflow-cpu": (examples / "temperatures" / "above.pb", "({'x': [1.0], 't': 2.0},)"),
        "'federated-runtime[xla]'": (examples / "digits-jax" / "initialize.pb", "()"),
    }
    for package, (path, args) in calls.items():
        command = [sys.executable, "-c", code, str(path), args]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)
        assert done.stdout.rstrip().endswith(f"pip install {package}"), done.stderr


def test_commands(tmp_path):
    (tmp_path / "total.tff").write_text(TOTAL)
    command = [sys.executable, "-m", "federated_runtime", "tff"]
    done = subprocess.run([*command, "type", tmp_path / "total.tff"], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout.strip()) == (0, "({int32}@CLIENTS -> int32@SERVER)"), done.stderr
    done = subprocess.run([*command, "type", tmp_path / "missing.tff"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 1 and "missing.tff" in done.stderr
    scripts = pathlib.Path(sysconfig.get_path("scripts"))
    for name in ("tff", "tff-worker"):
        done = subprocess.run([scripts / name, "--version"], capture_output=True, text=True, timeout=120)
        assert done.stdout.startswith(f"{name} "), done.stderr


def test_workers():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    command = [sys.executable, "-m", "federated_runtime", "worker", "-v", f"--port={port}"]
    worker = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        while "listening" not in (line := worker.stderr.readline()) and line:
            pass
        executor = fr.Executor(workers=[f"127.0.0.1:{port}"])
        assert fr.run(parse(TOTAL), [1, 2, 3], executor=executor) == 6
    finally:
        worker.send_signal(signal.SIGINT)
        assert worker.wait(timeout=30) == 0


def test_data_that_computations_name():
    def lookup(content, ty):
        assert ty == fr.Type("int32")
        return {"one": 1, "two": 2}[content]

    executor = fr.Executor(data=lookup)
    comp = fr.Computation.parse('data "two":int32')
    assert fr.run(comp, executor=executor) == 2
    with pytest.raises(fr.Error, match="data at `two`"):
        fr.run(comp)
    with pytest.raises(fr.Error) as caught:
        fr.run(fr.Computation.parse('data "three":int32'), executor=executor)
    assert isinstance(caught.value.__cause__, KeyError)
