"""Simulations: an iterative process over the data of many clients, round by round."""

import os
import time

from . import _native
from . import _run
from ._errors import MismatchError


class History:
    """The rounds of a simulation; a list of them, with a table and a picture in notebooks.

    Attributes:
        rounds: For each round a dict: ``round`` from 1, ``clients`` with the ids of those that took part, ``metrics``
            with numbers by their names, and ``seconds``; with an engine also ``parts``, the seconds of each part.
        evaluation: The metrics of the last state on all clients; ``None`` where the process has no evaluation.
        state: The state at the server after the last round, as the process has it.
        model: The model in it, where the process says how it is found; otherwise ``None``.
    """

    def __init__(self):
        self.rounds = []
        self.evaluation = None
        self.state = None
        self.model = None

    def __len__(self):
        return len(self.rounds)

    def __getitem__(self, index):
        return self.rounds[index]

    def _names(self):
        return list(dict.fromkeys(name for it in self.rounds for name in it["metrics"]))

    def to_pandas(self):
        """A table with a row for each round: its metrics and ``seconds``, by ``round``."""
        import pandas as pd

        rows = [{"round": it["round"], **it["metrics"], "seconds": it["seconds"]} for it in self.rounds]
        return pd.DataFrame(rows, columns=["round", *self._names(), "seconds"]).set_index("round")

    def __repr__(self):
        if not self.rounds:
            return "<History of no rounds>"
        last = ", ".join(f"{name} {value:.4g}" for name, value in self.rounds[-1]["metrics"].items())
        return f"<History of {len(self.rounds)} rounds; the last: {last}>"

    def to_svg(self, names=None):
        """A picture of metrics over the rounds, each on a scale of its own: the text of an SVG file.

        Args:
            names: The metrics; by default all that change.
        """
        import html

        if names is None:
            names = [name for name in self._names() if len({it["metrics"].get(name) for it in self.rounds}) > 1]
        width, height, space = 260, 120, 20
        parts = []
        for index, name in enumerate(names):
            points = [(it["round"], it["metrics"][name]) for it in self.rounds if name in it["metrics"]]
            points = [(x, y) for x, y in points if y == y and abs(y) != float("inf")]
            left = index * (width + space)
            label = f'<text x="{left}" y="12">{html.escape(name)}</text>'
            if points:
                low, high = min(y for _, y in points), max(y for _, y in points)
                first, last = points[0][0], points[-1][0]
                place = " ".join(
                    f"{left + (x - first) / ((last - first) or 1) * width:.1f},"
                    f"{height - (y - low) / ((high - low) or 1) * (height - 40) - 14:.1f}"
                    for x, y in points
                )
                label += f'<polyline points="{place}" fill="none" stroke="#3465a4" stroke-width="1.5"/>'
                label += f'<text x="{left}" y="{height}">{low:.4g} to {high:.4g}, rounds {first} to {last}</text>'
            parts.append(label)
        total = max(1, len(names)) * (width + space)
        head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{total}" height="{height + 6}"'
        return f'{head} font-family="sans-serif" font-size="11" fill="currentColor">{"".join(parts)}</svg>'

    def _repr_html_(self):
        import html

        names = self._names()
        head = "".join(f"<th>{html.escape(name)}</th>" for name in ["round", *names, "seconds"])
        shown = self.rounds if len(self.rounds) <= 12 else [*self.rounds[:5], None, *self.rounds[-5:]]
        rows = ""
        for it in shown:
            cells = (
                ["…"] * (len(names) + 2)
                if it is None
                else [it["round"], *(f"{it['metrics'].get(name, float('nan')):.4g}" for name in names), f"{it['seconds']:.3f}"]
            )
            rows += "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
        if self.evaluation is not None:
            cells = ["evaluation", *(f"{self.evaluation.get(name, float('nan')):.4g}" for name in names), ""]
            rows += "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
        return f"{self.to_svg()}<table><tr>{head}</tr>{rows}</table>"


class Clients:
    """The rows of a table by the clients that they belong to, in batches; made by `divide`."""

    def __init__(self, columns, rows_of, batch_size, drop_remainder, epochs):
        self._columns = columns
        self._rows_of = rows_of
        self._batch_size = batch_size
        self._drop_remainder = drop_remainder
        self._epochs = epochs

    def __iter__(self):
        return iter(self._rows_of)

    def __len__(self):
        return len(self._rows_of)

    def __getitem__(self, client):
        return self.batches(client, None)

    def __repr__(self):
        return f"<Clients {len(self)}, columns {', '.join(map(str, self._columns))}>"

    def batches(self, client, element):
        """The batches of a client, as elements of the type `element`; rows where there is no batch size."""
        import numpy as np

        rows = self._rows_of[client]
        columns = {name: column[rows] for name, column in self._columns.items()}
        is_tuple = element is not None and element.elements and all(name is None for name, _ in element.elements)
        if element is not None:
            members = [(name, ty.dtype) for name, ty in element.elements or ()]
            for (name, dtype), own in zip(members, list(columns) if is_tuple else (name for name, _ in members)):
                if own in columns and dtype not in (None, "str"):
                    columns[own] = _exactly(columns[own], dtype, own)
        size = self._batch_size or 1
        starts = range(0, len(rows) - size + 1 if self._drop_remainder else len(rows), size)
        batches = []
        for start in starts:
            index = slice(start, start + size) if self._batch_size else start
            batch = {name: np.asarray(column[index]) for name, column in columns.items()}
            batches.append(tuple(batch.values()) if is_tuple else batch)
        return batches * self._epochs


def _exactly(column, dtype, name):
    """The column with elements of this type; numbers must stay what they are, but for digits after the point."""
    import numpy as np

    if column.dtype == dtype:
        return column
    cast = column.astype(dtype)
    if np.issubdtype(cast.dtype, np.integer) and not (cast == column).all():
        path, found = f"column {name}", f"{column.dtype} that do not fit"
        raise MismatchError(f"{path}: expected {dtype}, found {found}", path=path, expected=dtype, found=found)
    return cast


def divide(data, by, *, batch_size=None, drop_remainder=False, epochs=1, columns=None):
    """Divides the rows of a table among clients.

    Args:
        data: A table (pandas, Arrow, Polars, Hugging Face), a dict of arrays, or a data set of PyTorch with a length.
        by: The name of a column: rows with the same value in it belong to one client, and clients are in the order in
            which they occur. Or a number of clients: row ``r`` belongs to client ``r`` modulo it.
        batch_size: The number of rows in a batch; without it the elements are rows.
        drop_remainder: Whether rows that fill no batch are left out. Computations in JAX need that.
        epochs: How often each client goes through its rows.
        columns: What the elements are made of: for each of their names a column, or a list of columns that become one
            more dimension. By default all columns but that of the clients. Where the elements of a process have no
            names these are by position.

    Returns:
        What `simulate` takes as clients.

    Raises:
        KeyError: There is no such column.
    """
    import numpy as np

    from . import _convert

    table = dict(data) if isinstance(data, dict) else _convert.columns(data)
    if table is None and hasattr(data, "__getitem__") and hasattr(data, "__len__"):
        # A data set of PyTorch: tuples or dicts, one for each row.
        rows = [data[index] for index in range(len(data))]
        keys = rows[0].keys() if rows and isinstance(rows[0], dict) else range(len(rows[0]) if rows else 0)
        table = {key: np.stack([np.asarray(row[key]) for row in rows]) for key in keys}
    if table is None:
        raise TypeError(f"expected a table, a dict of columns or a data set with a length, found {_convert.describe(data)}")
    table = {name: np.asarray(column) for name, column in table.items()}
    n_rows = len(next(iter(table.values()), ()))
    rows_of = {}
    if isinstance(by, int) and not isinstance(by, bool):
        if by < 1:
            raise ValueError(f"expected at least one client, found {by}")
        rows_of = {client: np.arange(client, n_rows, by) for client in range(by)}
    else:
        ids = table[by].tolist()
        for row, client in enumerate(ids):
            rows_of.setdefault(client, []).append(row)
        rows_of = {client: np.array(rows) for client, rows in rows_of.items()}
    if columns is None:
        columns = {name: name for name in table if isinstance(by, int) or name != by}
    made = {
        name: np.stack([table[it] for it in names], axis=1) if isinstance(names, (list, tuple)) else table[names]
        for name, names in columns.items()
    }
    return Clients(made, rows_of, batch_size, drop_remainder, epochs)


def _computation(comp):
    if comp is None or isinstance(comp, _native.Computation):
        return comp
    if isinstance(comp, (str, os.PathLike)):
        return _native.load(comp)
    message = comp.to_proto() if hasattr(comp, "to_proto") else type(comp).get_proto(comp)
    return _native.Computation.from_bytes(message.SerializeToString(deterministic=True))


def _numbers(metrics, path=()):
    """The scalars in metrics that are numbers, named by their paths."""
    if isinstance(metrics, (dict, tuple)):
        items = metrics.items() if isinstance(metrics, dict) else enumerate(metrics)
        return {name: it for key, value in items for name, it in _numbers(value, (*path, str(key))).items()}
    if getattr(metrics, "ndim", None) == 0 and metrics.dtype.kind in "biuf":
        return {".".join(path) or "value": metrics.item()}
    return {}


class _Source:
    """The data of the clients as values, which are read once."""

    def __init__(self, clients, ty):
        if not (hasattr(clients, "keys") or isinstance(clients, Clients)):
            raise TypeError(
                "expected a dict of clients by their ids, or what federated_runtime.divide gives, "
                f"found {type(clients).__name__}"
            )
        self.ids = list(clients)
        self._clients = clients
        self._ty = ty
        self._read = {}

    def get(self, client):
        if client in self._read:
            return self._read[client]
        found = _read_client(self._clients, client, self._ty)
        # What loads data is asked each time: that is why it is given.
        if isinstance(self._clients, Clients) or not _is_loader(self._clients[client]):
            self._read[client] = found
        return found


def _is_loader(data):
    return callable(data) and not hasattr(data, "__array__")


def _read_client(clients, client, ty):
    """The data of a client as a value; a note of what is raised names the client."""
    try:
        if isinstance(clients, Clients):
            data = clients.batches(client, ty.element)
        else:
            data = clients[client]
        return _native.Value(data() if _is_loader(data) else data, ty)
    except Exception as error:
        error.add_note(f"while the data of client {client!r} was read")
        raise


class _InProcess:
    """A computation that runs in this process, on all clients at once."""

    def __init__(self, comp, source, executor):
        self._program = executor.prepare(comp)
        self._source = source

    def call(self, ids, args, name, progress=None):
        del name, progress
        data = [self._source.get(client) for client in ids]
        return self._program(*args, data, n_clients=len(ids), raw=True), None


def _save(path, settings, history, state):
    """Writes a checkpoint, whole or not at all."""
    import json
    import zipfile

    path = os.fspath(path)
    with zipfile.ZipFile(f"{path}.new", "w") as file:
        file.writestr("simulation.json", json.dumps({**settings, "rounds": history.rounds}, default=str))
        file.writestr("state.pb", state.to_bytes())
    os.replace(f"{path}.new", path)


def _load(path, settings, ty):
    import json
    import zipfile

    with zipfile.ZipFile(path) as file:
        found = json.loads(file.read("simulation.json"))
        state = file.read("state.pb")
    rounds = found.pop("rounds")
    for name, expected in settings.items():
        if found.get(name) != expected:
            raise ValueError(f"{path}: the checkpoint is of another simulation: {name} is {found.get(name)!r}, not {expected!r}")
    return rounds, _native.Value.from_bytes(state, ty)


def _bar(n_rounds, n_done):
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    return tqdm(total=n_rounds, initial=n_done, unit="round")


def simulate(
    process,
    clients,
    rounds,
    clients_per_round=None,
    seed=0,
    checkpoint=None,
    progress=True,
    *,
    executor=None,
    engine=None,
    on_round=None,
):
    """Runs an iterative process over clients' data, and evaluates its last state on all clients.

    Args:
        process: Has ``initialize`` and ``next``, and may have ``evaluate``: computations of federated-language or TFF,
            of this package, or paths of files. ``next`` takes the state at the server and the data at the clients to the
            next state and metrics; ``evaluate`` takes the same to metrics.
        clients: The data of each client by its id: whatever the type of the data takes, or a function without
            parameters that loads it whenever the client takes part; or what `divide` gives.
        rounds: The number of rounds.
        clients_per_round: How many clients take part in a round, at random without replacement; all by default.
        seed: What decides which; the choice depends on it and the number of the round alone, as in ``tff simulate``.
        checkpoint: A file that is written after each round, and from which the simulation goes on where it exists.
        progress: Whether a bar shows the rounds and metrics, where tqdm is installed.
        executor: Where the computations run; by default `federated_runtime.default_executor()`.
        engine: What computes the clients' parts of the rounds and of the evaluation, such as `federated_runtime.ray.Ray`;
            by default this process.
        on_round: Called with each round's dict, as in `History.rounds`.

    Returns:
        A `History`.

    Raises:
        MismatchError: Data is not of the type that the process takes; a note names the client.
        ValueError: There are fewer clients than take part, or the checkpoint is of another simulation.
    """
    executor = executor or _run.default_executor()
    comps = {name: _computation(getattr(process, name, None)) for name in ("initialize", "next", "evaluate")}
    ty = comps["next"].type.parameter
    if ty is None or ty.elements is None or len(ty.elements) != 2:
        raise ValueError(f"next: expected parameters for the state and the clients' data, found {comps['next'].type}")
    (_, state_ty), (_, data_ty) = ty.elements
    source = _Source(clients, data_ty.member if data_ty.placement == "CLIENTS" else data_ty)
    n_chosen = len(source.ids) if clients_per_round is None else clients_per_round
    if not 0 <= n_chosen <= len(source.ids):
        raise ValueError(f"clients_per_round: expected at most {len(source.ids)}, found {n_chosen}")
    initialize = executor.prepare(comps["initialize"])
    running = {
        name: engine.prepare(comp, clients, executor) if engine else _InProcess(comp, source, executor)
        for name, comp in comps.items()
        if comp is not None and name != "initialize"
    }

    history = History()
    settings = {"seed": seed, "clients_per_round": n_chosen, "clients": len(source.ids), "state": str(state_ty)}
    if checkpoint is not None and os.path.exists(checkpoint):
        history.rounds, state = _load(checkpoint, settings, state_ty)
    else:
        state = initialize(n_clients=n_chosen, raw=True)
    bar = _bar(rounds, len(history)) if progress else None
    try:
        for number in range(len(history) + 1, rounds + 1):
            chosen = _native.sample_clients(seed, number, len(source.ids), n_chosen)
            started = time.perf_counter()
            ids = [source.ids[position] for position in chosen]
            result, seconds_of_parts = running["next"].call(ids, [state], f"round {number}")
            state = result[0]
            done = {
                "round": number,
                "clients": ids,
                "metrics": _numbers(result[1].get(executor=executor)),
                "seconds": time.perf_counter() - started,
            }
            if seconds_of_parts is not None:
                done["parts"] = seconds_of_parts
            history.rounds.append(done)
            if checkpoint is not None:
                _save(checkpoint, settings, history, state)
            if bar is not None:
                bar.set_postfix({name: f"{value:.4g}" for name, value in done["metrics"].items()}, refresh=False)
                bar.update()
            if on_round is not None:
                on_round(done)
    finally:
        if bar is not None:
            bar.close()
    if "evaluate" in running:
        found, _ = running["evaluate"].call(source.ids, [state], "evaluation")
        history.evaluation = _numbers(found.get(executor=executor))
    history.state = state.get(executor=executor)
    if hasattr(process, "get_model"):
        history.model = process.get_model(history.state)
    return history
