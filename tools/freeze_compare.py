"""What differs between two folders that `tools.freeze_commands` wrote.

python -m tools.freeze_compare before after
"""

from __future__ import annotations

import difflib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TOLERANCE = 1e-9


def differences(before: Any, after: Any, where: str = "") -> Iterator[str]:
    """What differs between two records; floats may differ by TOLERANCE."""
    numbers = [isinstance(value, (int, float)) and not isinstance(value, bool) for value in (before, after)]
    if all(numbers):
        if abs(before - after) > TOLERANCE * max(1, abs(before), abs(after)):
            yield f"{where}: {before} became {after}"
    elif isinstance(before, dict) and isinstance(after, dict):
        for key in dict.fromkeys([*before, *after]):
            if key not in before or key not in after:
                yield f"{where}.{key}: only {'before' if key in before else 'after'}"
            else:
                yield from differences(before[key], after[key], f"{where}.{key}")
    elif isinstance(before, list) and isinstance(after, list):
        if len(before) == len(after) and not all(isinstance(line, str) for line in before + after):
            for number, (left, right) in enumerate(zip(before, after)):
                yield from differences(left, right, f"{where}[{number}]")
        elif before != after:
            texts = [[line if isinstance(line, str) else json.dumps(line) for line in side] for side in (before, after)]
            yield f"{where}:\n" + "\n".join(difflib.unified_diff(*texts, "before", "after", lineterm="", n=0))
    elif before != after or type(before) is not type(after):
        yield f"{where}: {before!r} became {after!r}"


def compare(before: Path, after: Path) -> int:
    """Print what differs between two folders; how many files do."""
    count = 0
    for name in sorted({path.name for folder in (before, after) for path in folder.glob("*.json")}):
        sides = [
            json.loads((folder / name).read_text()) if (folder / name).exists() else None for folder in (before, after)
        ]
        lines = list(differences(*sides))
        count += bool(lines)
        print(*([f"-- {name}", *lines] if lines else []), sep="\n", end="\n" if lines else "")
    print(f"{count} files differ")
    return count


if __name__ == "__main__":
    sys.exit(bool(compare(*map(Path, sys.argv[1:3]))))
