"""Measures the package: times, and ratios to the same thing done otherwise. scripts/python.sh --bench runs it.

Where TensorFlow Federated is installed its own context, with the worker that it has, is measured beside.
"""

import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

import federated_runtime as fr

EXAMPLES = pathlib.Path(__file__).resolve().parents[1] / "examples"
failed = []


def seconds(*jobs, n=30):
    """For each job its time in each of some rounds, in which the jobs take turns; after one that does not count."""
    times = [[] for _ in jobs]
    for round_idx in range(n + 1):
        for job, taken in zip(jobs, times):
            start = time.perf_counter()
            job()
            if round_idx:
                taken.append(time.perf_counter() - start)
    return times


def report(name, value, unit, limit=None, at_least=None):
    wanted = f"at most {limit:g}" if limit is not None else f"at least {at_least:g}" if at_least is not None else ""
    missed = (limit is not None and value > limit) or (at_least is not None and value < at_least)
    if missed:
        failed.append(name)
    print(f"{name:48} {value:10.4g} {unit:6} {wanted}{'  MISSED' if missed else ''}", flush=True)


def parse(text):
    return fr.default_executor().prepare(fr.Computation.parse(text))


def many(call, n=1000):
    def job():
        for _ in range(n):
            call()

    return job


def tiny():
    total = parse("(x:{int32}@CLIENTS -> %federated_sum(x))")
    (taken,) = seconds(many(lambda: total([1, 2, 3])))
    report("a call that sums three numbers", min(taken) * 1e3, "us", limit=10)


def arrays():
    same = parse("(x:float32[1000000] -> x)")
    array = np.ones(1_000_000, np.float32)
    read_only = array.copy()
    read_only.flags.writeable = False
    copied, shared = seconds(many(lambda: same(array), 20), many(lambda: same(read_only), 20))
    # Less the call itself, measured the same way.
    identity = parse("(x:int32 -> x)")
    (call,) = seconds(many(lambda: identity(1), 20))
    report("an array of 4 MB, copied", (min(copied) - min(call)) / 20 * 1e6, "us", limit=100)
    report("an array of 4 MB, read-only", (min(shared) - min(call)) / 20 * 1e6, "us", limit=5)


def clients():
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=1000).astype(np.float32).tolist()
    vectors = [rng.normal(size=10_000).astype(np.float32) for _ in range(1000)]
    mean = parse("(x:{float32}@CLIENTS -> %federated_mean(x))")
    total = parse("(x:{float32[10000]}@CLIENTS -> %federated_sum(x))")
    jobs = [lambda: mean(numbers), lambda: total(vectors)]
    try:
        import tensorflow_federated as tff
    except ImportError:
        for name, taken in zip(("mean of 1,000 numbers", "sum of 1,000 x float32[10000]"), seconds(*jobs)):
            report(name, min(taken) * 1e3, "ms")
        print("(the ratios to TensorFlow Federated need it installed)")
        return
    tff.backends.native.set_sync_local_cpp_execution_context()

    @tff.federated_computation(tff.FederatedType(np.float32, tff.CLIENTS))
    def tff_mean(values):
        return tff.federated_mean(values)

    @tff.federated_computation(tff.FederatedType(tff.TensorType(np.float32, [10_000]), tff.CLIENTS))
    def tff_total(values):
        return tff.federated_sum(values)

    times = seconds(*jobs, lambda: tff_mean(numbers), lambda: tff_total(vectors), n=8)
    names = ("mean of 1,000 numbers", "sum of 1,000 x float32[10000]")
    for name, ours, theirs, at_least in zip(names, times, times[2:], (100, 60)):
        report(name, min(ours) * 1e3, "ms")
        ratio = statistics.median(its / own for own, its in zip(ours, theirs))
        report(f"{name}, TFF over ours", ratio, "x", at_least=at_least)


def imports():
    def start(code):
        return lambda: subprocess.run([sys.executable, "-c", code], check=True)

    bare, with_import = seconds(start(""), start("import federated_runtime"), n=15)
    report("import over bare Python", statistics.median(b - a for a, b in zip(bare, with_import)) * 1e3, "ms", limit=50)


def digits():
    table = np.loadtxt(EXAMPLES / "digits" / "digits.csv", delimiter=",", skiprows=1, dtype=np.float32)
    data = {"pixels": table[:, :64], "label": table[:, 64].astype(np.int32)}
    clients = fr.divide(data, 20, batch_size=10, drop_remainder=True)

    class Process:
        initialize = EXAMPLES / "digits-jax" / "initialize.pb"
        next = EXAMPLES / "digits-jax" / "next.pb"

    def ours():
        return [it["seconds"] for it in fr.simulate(Process, clients, 20, progress=False)][1:]

    def command():
        tff = [sys.executable, "-m", "federated_runtime", "tff", "simulate", EXAMPLES / "digits-jax" / "digits.toml"]
        with tempfile.TemporaryDirectory() as folder:
            history = pathlib.Path(folder, "history.jsonl")
            subprocess.run([*tff, "--history", history], check=True, capture_output=True)
            lines = [json.loads(line) for line in history.read_text().splitlines()]
        return [line["seconds"] for line in lines if "round" in line][1:]

    pairs = [(statistics.median(ours()), statistics.median(command())) for _ in range(5)]
    report("a round of digits in JAX", min(ours for ours, _ in pairs) * 1e3, "ms")
    ratio = statistics.median(ours / theirs for ours, theirs in pairs)
    report("a round of digits in JAX over that of the command", ratio, "x", limit=1.1)


if __name__ == "__main__":
    for measure in (tiny, arrays, clients, imports, digits):
        measure()
    sys.exit(f"missed: {', '.join(failed)}" if failed else 0)
