"""How long `salon --help` takes to start, beside importing its terminal library alone.

Best of five runs in fresh processes, wall time. Limit: the interpreter itself, doing nothing.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

RUNS = 5


def fewest_seconds(command: list[str]) -> float:
    """The fastest of RUNS runs."""
    seconds = []
    for _ in range(RUNS):
        start = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def main() -> None:
    """Print the line."""
    ours = fewest_seconds([str(Path(sys.executable).with_name("salon")), "--help"])
    peer = fewest_seconds([sys.executable, "-c", "import click"])
    limit = fewest_seconds([sys.executable, "-c", "pass"])
    line = {
        "name": "start_up",
        "ours": round(ours, 4),
        "peer_name": 'python -c "import click"',
        "peer": round(peer, 4),
        "ratio": round(peer / ours, 2),
        "limit": round(limit, 4),
        "limit_name": "python -c pass",
        "unit": "s",
    }
    print(json.dumps(line))


if __name__ == "__main__":
    main()
