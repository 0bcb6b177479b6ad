"""Processor seconds of `salon check` and `salon fuse`: the first time on a machine, and from then on.

A TASTE study (10 criteria, 80 prompts, 5 raters, 4 items) and six votes are checked, 9,000 votes are fused by
generator, each by a command in a fresh process. Ours: the second and later runs, the fewest of three. Peer: the first
run of all, with an empty folder for machine code, so the ratio is what a first use costs beside the next ones. Limit:
importing what the command is made of, and nothing else.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

SALON = "from salon.cli.main import run; run()"
SIX = "rater,a,b,outcome\n" + "".join(f"r{n},x,y,{'ab'[n % 2]}\n" for n in range(6))
COMMANDS = {
    "check a TASTE study": ("check", "taste", "--json"),
    "check six votes": ("check", "six.csv", "--json"),
    "fuse 9,000 votes": ("fuse", "votes", "--by", "generator", "--json"),
}


def make(folder: Path) -> None:
    """The studies."""
    simulate = ("simulate", "--items", "4", "--raters", "5", "-o")
    seconds(folder, folder, *simulate, "taste", "--prompts", "80", "--criteria", "10")
    seconds(folder, folder, *simulate, "votes", "--protocol", "comparisons", "--prompts", "300", "--seed", "3")
    (folder / "six.csv").write_text(SIX)


def seconds(folder: Path, machine_code: Path, *words: str, code: str = SALON) -> float:
    """Processor seconds of one command."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(machine_code), "OMP_NUM_THREADS": "1"}
    with open(os.devnull, "wb") as nowhere:
        process = subprocess.Popen(
            [sys.executable, "-c", code, *words], cwd=folder, env=environment, stdout=nowhere, stderr=nowhere
        )
        _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"salon {' '.join(words)} failed with status {status}")
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    """Print one line for each command."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make(folder)
        for what, words in COMMANDS.items():
            with tempfile.TemporaryDirectory() as machine_code:
                empty = Path(machine_code)
                first = seconds(folder, empty, *words)
                later = min(seconds(folder, empty, *words) for _ in range(3))
                limit = min(seconds(folder, empty, code=f"import salon.cli.{words[0]}") for _ in range(3))
            line = {
                "name": f"first_use: {what}",
                "ours": round(later, 2),
                "peer_name": "the same command, the first time on a machine",
                "peer": round(first, 2),
                "ratio": round(first / later, 2),
                "limit": round(limit, 2),
                "limit_name": f"python -c 'import salon.cli.{words[0]}'",
                "unit": "s",
            }
            print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
