"""What a help and the front page cost: processor time of whole processes, bytecode warm.

`helps`: the slowest help of a command beside `salon --help`; the aim is at most .3 s. `front page`:
`import salon; salon.check_study` beside the libraries it cannot do without.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys

import click

from salon.cli.main import salon

RUNS = 3
FLOOR = "import numpy, pyarrow, pydantic, click"


def fewest_seconds(words: list[str]) -> float:
    """Processor time of the cheapest of RUNS runs, after one that writes the bytecode."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    seconds = []
    for _ in range(RUNS + 1):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *words], check=True, stdout=subprocess.DEVNULL, env=environment)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(seconds[1:])


def commands(command: click.Command, words: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """The words of every command of the tree below `command`."""
    if not isinstance(command, click.Group):
        return [words]
    context = click.Context(command)
    found = ((name, command.get_command(context, name)) for name in command.list_commands(context))
    return [words, *(path for name, one in found if one is not None for path in commands(one, (*words, name)))]


def main() -> None:
    """Print the lines."""
    seconds = {words: fewest_seconds(["-m", "salon", *words, "--help"]) for words in commands(salon)}
    slowest = max(seconds, key=lambda words: seconds[words])
    ours, peer = seconds[slowest], seconds[()]
    line = {"name": "helps", "ours": round(ours, 3), "peer_name": "salon --help", "peer": round(peer, 3)}
    line |= {"ratio": round(ours / peer, 2), "limit": 0.3, "unit": "s of processor time"}
    print(json.dumps(line | {"slowest": " ".join(slowest), "commands": len(seconds)}), flush=True)
    ours, peer = fewest_seconds(["-c", "import salon; salon.check_study"]), fewest_seconds(["-c", FLOOR])
    line = {"name": "front page", "ours": round(ours, 3), "peer_name": FLOOR, "peer": round(peer, 3)}
    print(json.dumps(line | {"ratio": round(ours / peer, 2), "limit": 0.8, "unit": "s of processor time"}))


if __name__ == "__main__":
    main()
