"""Run every benchmark, or those named, each in a fresh process; the lines are kept in docs/evidence/benchmarks.md."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from benchmarks._page import keep

KEYS = ("name", "ours", "peer_name", "peer", "ratio", "limit", "unit")


def main(names: list[str]) -> int:
    folder = Path(__file__).parent
    known = sorted(path.stem for path in folder.glob("*.py") if not path.stem.startswith("_"))
    unknown = [name for name in names if name not in known]
    if unknown:
        print(f"no benchmark named {', '.join(unknown)}; there are: {', '.join(known)}", file=sys.stderr)
        return 2
    failed = 0
    for name in names or known:
        run = subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], capture_output=True, text=True)
        if run.returncode:
            print(f"{name} failed:\n{run.stderr}", file=sys.stderr)
            failed += 1
            continue
        lines = [json.loads(line) for line in run.stdout.splitlines()]
        for line in lines:
            missing = [key for key in KEYS if key not in line]
            if missing:
                print(f"{name}: no {', '.join(missing)} in its line", file=sys.stderr)
                failed += 1
            print(json.dumps(line), flush=True)
        keep(name, lines)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
