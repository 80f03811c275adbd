"""Rounds on Ray: many machines compute the clients' parts.

    from federated_runtime.ray import Ray

    history = fr.simulate(process, clients, rounds=100, engine=Ray(parts=64))

The clients of a round are split into `parts` neighbouring parts. Each is a task of Ray, which reads its clients' data
where it runs, one portion after another, and gives one partial aggregate. These are merged in the order of the parts. The
result depends on the number of parts and the seed alone: not on how many nodes there are, nor on which of them fail. Up
to `GROUP` parts it equals, bit for bit, ``tff run --sub-rounds``.
"""

import collections
import os
import re
import time

import ray

from . import _functions, _native, _run
from ._errors import Error, RunError
from .forms import _Split
from .simulation import _read_client

GROUP = 32
"""So many partial aggregates are merged by one; more are merged in groups first, on the workers."""

# What this process of Ray has prepared, by the program's number; the last used are kept.
_prepared = collections.OrderedDict()
_KEPT = 8


class _Package:
    """A computation on its way to the workers, and what it needs there; a small one that names large ones."""

    def __init__(self, key, contents, clients):
        self.key = key
        # In a list, so that a task is not given the object unless it asks.
        self.contents = [contents]
        self.clients = [clients]


def _unpack(package, n_threads):
    key = (package.key, n_threads)
    found = _prepared.get(key)
    if found is None:
        split, options, functions = ray.get(package.contents[0])
        _functions.restore(functions)
        executor = _native.Executor(threads=n_threads, **options)
        programs = {name: executor.prepare(getattr(split, name)) for name in ("zero", "accumulate", "merge")}
        found = _prepared[key] = split, programs, ray.get(package.clients[0])
        while len(_prepared) > _KEPT:
            _prepared.popitem(last=False)
    _prepared.move_to_end(key)
    return found


def _name_client(error, ids):
    """The error with the client's id in its path, where it has the client's position among these."""
    path = re.search(r"\bclient (\d+)", error.path or "")
    if path is None or int(path[1]) >= len(ids):
        return error
    named = type(error)(
        str(error).replace(path[0], f"client {ids[int(path[1])]!r}", 1),
        path=error.path.replace(path[0], f"client {ids[int(path[1])]!r}", 1),
        expected=error.expected,
        found=error.found,
    )
    named.__cause__ = error.__cause__
    return named


def _compute_part(package, ids, server, n_threads):
    """The partial aggregate of these clients, in order; as bytes, with its type and, in a list, the seconds it took."""
    started = time.perf_counter()
    split, programs, clients = _unpack(package, n_threads)
    ty = split.clients_type().member
    server = [_native.Value.from_bytes(data, ty) for data, ty in server]
    accumulator = programs["zero"](raw=True)
    # A portion has a client for each thread: what is in memory is that much, whatever the number of clients.
    for start in range(0, len(ids), n_threads):
        portion = ids[start : start + n_threads]
        data = [_read_client(clients, client, ty) for client in portion]
        argument = split.argument(server, data)
        try:
            accumulator = programs["accumulate"](accumulator, argument, n_clients=len(portion), raw=True).member
        except Error as error:
            raise _name_client(error, portion)
    return accumulator.to_bytes(), accumulator.type, [time.perf_counter() - started]


def _merge_parts(package, n_threads, *partials):
    """The partial aggregates of several parts as one, from left to right."""
    _, programs, _ = _unpack(package, n_threads)
    merged, seconds = _merged(programs["merge"], partials)
    return merged.to_bytes(), merged.type, seconds


def _merged(merge, partials):
    """Partial aggregates as one, from left to right, and the seconds of each part."""
    merged, seconds = None, []
    for data, ty, taken in partials:
        partial = _native.Value.from_bytes(data, ty)
        merged = partial if merged is None else merge(merged, partial, raw=True)
        seconds += taken
    return merged, seconds


def _ranges(n, n_parts):
    """As equal in number as can be, the larger parts first; none is empty, unless all are."""
    n_parts = min(n_parts, max(n, 1))
    each, more = divmod(n, n_parts)
    starts = [index * each + min(index, more) for index in range(n_parts + 1)]
    return list(zip(starts, starts[1:]))


class Ray:
    """An engine of `federated_runtime.simulate`, and what runs single computations.

    Without a cluster that this process is connected to, one is started on this machine, and ends with this process. A
    cluster that is running is used after ``ray.init(address="auto")``.

    Args:
        parts: In how many parts the clients of a round are split. The result depends on it.
        cpus: How many CPUs a task takes, and how many threads compute in it.
        retries: How often a part is computed again whose worker, node or memory was lost. An error of the computation,
            or of what loads data, is not tried again.
        resources: More options of Ray's tasks, such as ``{"memory": 2**30}`` or ``{"num_gpus": 1}``.
        options: Options of the `federated_runtime.Executor` that each worker has, such as ``data`` or ``kernels``.
    """

    def __init__(self, parts, *, cpus=1, retries=3, resources=None, options=None):
        if parts < 1:
            raise ValueError(f"parts: expected at least 1, found {parts}")
        if cpus < 1:
            raise ValueError(f"cpus: expected at least 1, found {cpus}")
        self.parts = parts
        self._cpus = cpus
        self._tasks = {**(resources or {}), "num_cpus": cpus, "max_retries": retries, "retry_exceptions": False}
        self._options = dict(options or {})
        self._local = None

    def run(self, comp, clients, *args, progress=None, name="run"):
        """Runs a computation once, on all clients.

        Args:
            comp: Has one argument with a value for each client, aggregates it once, and results in values at the
                server.
            clients: The data of each client by its id, as `federated_runtime.simulate` takes it.
            *args: The other arguments, in order.
            progress: Called with the number of clients and the number of parts that are done.
            name: What Ray's dashboard shows for the tasks.

        Raises:
            CompileError: The computation cannot be split so; the message says where and why.
            RunError: It failed, with the id of the client as its path; or a part was lost too often.
        """
        prepared = self.prepare(comp, clients)
        result, _ = prepared.call(list(clients), args, name, progress)
        return result.get(executor=prepared.executor)

    def prepare(self, comp, clients, executor=None):
        """Sends a computation, and what loads the clients' data, to the cluster once."""
        if not ray.is_initialized():
            # Ray repeats what ran out of memory without end, unless it is told otherwise when it starts.
            ray.init(log_to_driver=False, _system_config={"task_oom_retries": self._tasks["max_retries"]})
        return _Prepared(self, comp, clients, executor)


class _Prepared:
    def __init__(self, engine, comp, clients, executor):
        self.engine = engine
        insecure_aggregation = engine._options.get("insecure_aggregation", False)
        self.split = _Split(comp, insecure_aggregation)
        self.executor = executor or _run.default_executor()
        self.merge = self.executor.prepare(self.split.merge)
        self.after_merge = self.executor.prepare(self.split.after_merge)
        functions = _functions.named_in(self.split.comp.to_bytes())
        contents = ray.put((self.split, engine._options, functions))
        self.package = _Package(os.urandom(16), contents, ray.put(clients))
        self.part = ray.remote(_compute_part)
        self.merging = ray.remote(_merge_parts)

    def call(self, ids, args, name, progress=None):
        """The result for these clients, raw, and the seconds of each part."""
        values = self.split.server_values(args)
        server = ray.put([(it.to_bytes(), it.type) for it in values])
        n_threads = self.engine._cpus
        ranges = _ranges(len(ids), self.engine.parts)
        tasks = [
            self.part.options(name=f"{name}, part {index + 1} of {len(ranges)}", **self.engine._tasks).remote(
                self.package, ids[start:end], server, n_threads
            )
            for index, (start, end) in enumerate(ranges)
        ]
        partials = list(tasks)
        try:
            while len(partials) > GROUP:
                groups = [partials[start : start + GROUP] for start in range(0, len(partials), GROUP)]
                partials = [
                    self.merging.options(name=f"{name}, merge", **self.engine._tasks).remote(
                        self.package, n_threads, *group
                    )
                    for group in groups
                ]
                tasks += partials
            if progress is not None:
                self._follow(tasks[: len(ranges)], ranges, progress)
            merged, seconds = _merged(self.merge, (self._get(task, tasks, ranges) for task in partials))
        except (KeyboardInterrupt, SystemExit):
            # After an error the tasks that are left end by themselves: Ray 2.60 ends this process if a task is cancelled
            # that is just done.
            for task in tasks:
                ray.cancel(task, force=True)
            raise
        argument = self.split.argument(values, [])
        result = self.after_merge(argument, merged.at_server(), n_clients=0, raw=True)
        return result, seconds

    def _follow(self, parts, ranges, progress):
        left = dict(zip(parts, ranges))
        n_clients = 0
        while left:
            for done in ray.wait(list(left), num_returns=1)[0]:
                start, end = left.pop(done)
                n_clients += end - start
                progress(n_clients, len(parts) - len(left))

    def _get(self, task, tasks, ranges):
        try:
            return ray.get(task)
        except ray.exceptions.RayTaskError as error:
            # The error as the worker raised it; Ray's own has the worker's traceback.
            raise error.cause from error
        except (
            ray.exceptions.OutOfMemoryError,
            ray.exceptions.WorkerCrashedError,
            ray.exceptions.NodeDiedError,
            ray.exceptions.ObjectLostError,
        ) as error:
            index = tasks.index(task)
            which = f"part {index + 1} of {len(ranges)}" if index < len(ranges) else "a merge"
            message = f"{which}: lost more often than it is retried: {str(error).strip().splitlines()[0]}"
            raise RunError(message, path=which) from error
