"""Write tests/long_tests.txt, the test files that `make check` leaves out, from the times of a whole run.

    python -m pytest -n 2 --dist loadfile --junitxml times.xml
    python -m tools.long_tests times.xml

The longest files go first, until the rest fits into SECONDS of one process.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).parent.parent
SECONDS = 180


def test_file(classname: str) -> str:
    """The file of a test class as JUnit names it: `tests.web.test_pages.TestOwner`."""
    parts = classname.split(".")
    while parts and not (ROOT / "/".join(parts)).with_suffix(".py").is_file():
        parts.pop()
    return "/".join(parts) + ".py"


def long_files(report: Path) -> list[str]:
    """The files to leave out, in alphabetical order."""
    seconds: Counter[str] = Counter()
    for case in ElementTree.parse(report).iter("testcase"):
        seconds[test_file(case.get("classname", ""))] += float(case.get("time", 0))  # type: ignore[assignment]  # a float
    files = [file for file, _ in seconds.most_common()]
    rest = sum(seconds.values())
    while files and rest > SECONDS:
        rest -= seconds[files.pop(0)]
    return sorted(set(seconds) - set(files))


if __name__ == "__main__":
    (ROOT / "tests/long_tests.txt").write_text("\n".join(long_files(Path(sys.argv[1]))) + "\n", encoding="utf-8")
