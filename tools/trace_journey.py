"""Count what a reader meets who follows a command through the code: modules, and changes of package on the way.

    python -m tools.trace_journey              three journeys on small simulated studies
    python -m tools.trace_journey --list       with the modules, in the order in which they are first called

A module counts when one of its functions is called while the command runs; what runs because a module is imported does
not count. A change of package is a step, in the order of first calls, from a module to one in another package
(`salon.cli`, `salon.check`, ...). Compare the numbers before and after a restructuring; alone they mean little.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import subprocess
import sys
import tempfile
import threading
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any

SOURCE = Path(__file__).parent.parent / "src"
PREPARE = (
    "simulate -o votes --protocol comparisons --prompts 12 --items 3 --raters 4 --criteria 2 --tau 0.4 --seed 1",
    "judge run votes --simulated accuracy=0.7 --name sim",
)
JOURNEYS = {
    "check": "check votes --draws 100 --html check.html",
    "judge report": "judge report votes --draws 100 --html judges.html",
    "bench run": "bench run posters -g proof -o board",
}


def trace(words: list[str]) -> list[str]:
    """Modules below salon in the order in which they are first called by the command."""
    from salon.cli.main import run

    here = f"{SOURCE / 'salon'}{os.sep}"
    modules: dict[str, None] = {}

    def watch(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(here) and code.co_name != "<module>":
            module = code.co_filename[len(here) : -len(".py")]
            if module not in modules and not _imports(frame, here):
                modules[module] = None

    threading.setprofile(watch)
    sys.setprofile(watch)
    try:
        with contextlib.suppress(SystemExit), open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
            run(words)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    return list(modules)


def _imports(frame: FrameType | None, here: str) -> bool:
    """Whether this call is made while a module of salon is being imported."""
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_code.co_filename.startswith(here):
            return True
        frame = frame.f_back
    return False


def changes(modules: list[str]) -> int:
    """Steps from one package to another."""
    packages = [module.partition(os.sep)[0] for module in modules]
    return sum(before != after for before, after in pairwise(packages))


def main() -> None:
    """Trace each journey in a process of its own; with the name of a journey, that one in this process."""
    listed, names = "--list" in sys.argv, [word for word in sys.argv[1:] if word in JOURNEYS]
    if names:
        modules = trace(shlex.split(JOURNEYS[names[0]]))
        packages = {module.partition(os.sep)[0] for module in modules}
        print(f"{names[0]:14}{len(modules):4} modules{len(packages):4} packages{changes(modules):4} changes of package")
        print(*(f"    {module}" for module in modules if listed), sep="\n", end="\n" if listed else "")
        return
    with tempfile.TemporaryDirectory() as folder:
        path = os.pathsep.join([str(SOURCE), str(SOURCE.parent)])
        environment = os.environ | {"PYTHONPATH": path, "SALON_CACHE": f"{folder}/cache"}
        for line in PREPARE:
            words = [sys.executable, "-m", "salon", *shlex.split(line)]
            subprocess.run(words, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
        for name in JOURNEYS:
            words = [sys.executable, "-m", "tools.trace_journey", name, *(["--list"] if listed else [])]
            subprocess.run(words, cwd=folder, env=environment, check=True)


if __name__ == "__main__":
    main()
