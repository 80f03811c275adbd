"""``python -m federated_runtime COMMAND``: the commands, where scripts are not on the path."""

import sys

from . import _commands

if __name__ == "__main__":
    COMMANDS = {"tff": _commands.tff, "worker": _commands.worker}
    name = sys.argv[1] if len(sys.argv) > 1 else None
    if name not in COMMANDS:
        sys.exit(f"usage: python -m federated_runtime {{{','.join(COMMANDS)}}} ARGUMENT...")
    del sys.argv[1]
    COMMANDS[name]()
