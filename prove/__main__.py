"""Run every proof, or those named; each writes its own page under docs/."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def main(names: list[str]) -> int:
    known = sorted(path.stem for path in Path(__file__).parent.glob("*.py") if not path.stem.startswith("_"))
    unknown = [name for name in names if name not in known]
    if unknown:
        print(f"no proof named {', '.join(unknown)}; there are: {', '.join(known)}", file=sys.stderr)
        return 2
    codes = []
    for name in names or known:
        print(f"== {name}", flush=True)
        codes.append(subprocess.run([sys.executable, "-m", f"prove.{name}"]).returncode)
    return 1 if any(codes) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
