"""What clients on Ray load: functions that workers import or are sent."""

import os
import signal
import time


class Numbers:
    """Clients by number, none of which is kept: what each has is made when it is asked for."""

    def __init__(self, n_clients):
        self._n_clients = n_clients

    def keys(self):
        return range(self._n_clients)

    def __iter__(self):
        return iter(self.keys())

    def __len__(self):
        return self._n_clients

    def __getitem__(self, client):
        return [client, 10 * client]


def die_once(path, numbers):
    """Loads numbers; the first process that asks is killed, and leaves a file."""

    def load():
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return numbers
        os.kill(os.getpid(), signal.SIGKILL)

    return load


def die_always():
    os.kill(os.getpid(), signal.SIGKILL)


def fail(path):
    """Raises, and counts how often in a file."""

    def load():
        with open(path, "a") as file:
            file.write("asked\n")
        raise LookupError("the disk is gone")

    return load


def hang(path):
    """Says in a file that it was asked, and never ends."""

    def load():
        with open(path, "w") as file:
            file.write(str(os.getpid()))
        while True:
            time.sleep(60)

    return load
