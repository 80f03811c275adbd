"""Writes the digits of examples/digits/digits.csv in other formats, each by the library that its users have.

    python make.py arrow        # needs pyarrow
    python make.py numpy        # needs numpy
    python make.py tensorflow   # needs tensorflow; also the SQLite client data, whose rows are its examples

Row r belongs to client r modulo 20. The tables for pyarrow and numpy have the rows in the order of the CSV file; the
others have them by client.
"""

import csv
import lzma
import os
import sqlite3
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
CLIENTS = 20


def path(name):
    return os.path.join(HERE, name)


def rows():
    with open(path("../../examples/digits/digits.csv"), newline="") as file:
        lines = list(csv.reader(file))
    return lines[0], [[int(cell) for cell in line] for line in lines[1:]]


def write_arrow():
    import pyarrow as pa
    import pyarrow.feather
    import pyarrow.parquet

    header, table = rows()
    # Cells as pandas reads them: int64.
    columns = {name: pa.array(column, pa.int64()) for name, column in zip(header, zip(*table))}
    pyarrow.parquet.write_table(pa.table(columns), path("digits.parquet"), row_group_size=500)
    # As data sets of Hugging Face hold images: a list in each row, in several batches, a stream without an index.
    x = pa.array([row[:64] for row in table], pa.list_(pa.uint8(), 64))
    label = pa.array([row[64] for row in table], pa.int32())
    client = pa.array([f"{r % CLIENTS:02}" for r in range(len(table))]).dictionary_encode()
    lists = pa.table({"x": x, "label": label, "client": client})
    pyarrow.feather.write_feather(lists, path("digits.feather"), chunksize=700, compression="lz4")
    with pa.ipc.new_stream(path("digits.arrow"), lists.schema) as writer:
        writer.write_table(lists, max_chunksize=600)


def write_numpy():
    import numpy as np

    _, table = rows()
    table = np.array(table)
    x, label = table[:, :64].astype(np.uint8).reshape(-1, 8, 8), table[:, 64]
    np.savez(path("digits.npz"), x=x, label=label)
    np.savez_compressed(path("digits_compressed.npz"), x=np.asfortranarray(x.astype(">f8")), label=label)


def examples():
    import tensorflow as tf

    _, table = rows()
    for client in range(CLIENTS):
        for row in table[client::CLIENTS]:
            int64s = lambda values: tf.train.Feature(int64_list=tf.train.Int64List(value=values))
            floats = lambda values: tf.train.Feature(float_list=tf.train.FloatList(value=values))
            features = {"x": floats(row[:64]), "label": int64s(row[64:]), "client": int64s([client])}
            example = tf.train.Example(features=tf.train.Features(feature=features))
            yield f"{client:02}", example.SerializeToString(deterministic=True)


def write_tensorflow():
    import tensorflow as tf

    with tf.io.TFRecordWriter(path("digits.tfrecord")) as writer:
        for _, example in examples():
            writer.write(example)
    os.makedirs(path("digits"), exist_ok=True)
    for client in range(CLIENTS):
        with tf.io.TFRecordWriter(path(f"digits/{client:02}.tfrecord")) as writer:
            for name, example in examples():
                if int(name) == client:
                    writer.write(example)
    if os.path.exists(path("digits.sqlite")):
        os.remove(path("digits.sqlite"))
    with sqlite3.connect(path("digits.sqlite")) as database:
        database.execute(
            "CREATE TABLE examples (split_name TEXT NOT NULL, client_id TEXT NOT NULL, serialized_example_proto BLOB NOT NULL)"
        )
        database.execute(
            "CREATE TABLE client_metadata (client_id TEXT NOT NULL, split_name TEXT NOT NULL, num_examples INTEGER NOT NULL)"
        )
        counts = {}
        for client, example in examples():
            # The last tenth of a client's rows is for the test.
            counts[client] = counts.get(client, 0) + 1
            split = "test" if counts[client] > 81 else "train"
            database.execute("INSERT INTO examples VALUES (?, ?, ?)", (split, client, example))
        database.execute(
            "INSERT INTO client_metadata SELECT client_id, split_name, COUNT(*) FROM examples GROUP BY client_id, split_name"
        )
        database.execute("CREATE INDEX idx_examples ON examples (split_name, client_id)")
    with open(path("digits.sqlite"), "rb") as plain, lzma.open(path("digits.sqlite.lzma"), "wb") as packed:
        packed.write(plain.read())


if __name__ == "__main__":
    {"arrow": write_arrow, "numpy": write_numpy, "tensorflow": write_tensorflow}[sys.argv[1]]()
