"""The live figures of a studio, computed beside it in a process of its own.

Checking a study keeps a processor busy for seconds; in a thread of the server it would take its turns away from raters
who answer. So a second Python process reads the database and computes. It is started when figures are first asked for,
runs at low priority, and ends by itself when the studio does, however that dies: its input ends then.

    parent -> worker    one line of JSON: database, settings
    worker -> parent    eight bytes of length, then the pickled `LiveFigures`
"""

from __future__ import annotations

import json
import logging
import os
import pickle
import subprocess
import sys
from contextlib import suppress
from threading import Lock
from typing import Any, BinaryIO

from salon.collect.settings import StudioSettings
from salon.collect.studio.figures import LiveFigures, compute_figures
from salon.errors import SalonError
from salon.store import Database, open_database

_LENGTH = 8
_POLITE = 10
"""How far the worker stands back for the server, in Unix's niceness."""

log = logging.getLogger("salon.studio")


class FiguresFailed(SalonError):
    """The worker died, or could not compute."""


class FiguresWorker:
    """A process that computes the figures of one database. One caller at a time."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._closed = False
        self._starting = Lock()

    def ask(self, database: Database, settings: StudioSettings) -> LiveFigures:
        """The figures as of now; FiguresFailed when there are none, and the next call tries again."""
        url = database.url.render_as_string(hide_password=False)
        job = {"database": url, "settings": settings.model_dump(mode="json", exclude_defaults=True)}
        try:
            jobs, answers = self._pipes()
            jobs.write(json.dumps(job).encode() + b"\n")
            jobs.flush()
            answer = _receive(answers)
        except (OSError, EOFError, ValueError):  # it died, or was closed while it was working
            self._end()
            raise FiguresFailed("the live figures need a process of their own", found="one that ended") from None
        if isinstance(answer, LiveFigures):
            return answer
        raise FiguresFailed("the live figures could not be computed", found=answer)

    def close(self) -> None:
        """End the process, whatever it is doing, and start no other."""
        with self._starting:
            self._closed = True
        self._end()

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                assert pipe is not None
                with suppress(OSError):
                    pipe.close()

    def _pipes(self) -> tuple[Any, Any]:
        with self._starting:
            if self._closed:
                raise EOFError
            if self._process is None or self._process.poll() is not None:
                self._end()
                command = [sys.executable, "-m", "salon.collect.studio.figures_worker"]
                self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            return self._process.stdin, self._process.stdout


def _receive(stream: Any) -> object:
    length = int.from_bytes(stream.read(_LENGTH), "big")
    data = stream.read(length)
    if not length or len(data) < length:
        raise EOFError
    return pickle.loads(data)


def work(jobs: BinaryIO, answers: BinaryIO) -> None:
    """Compute for every line of `jobs` until they end."""
    for line in jobs:
        data = pickle.dumps(_compute(json.loads(line)))
        answers.write(len(data).to_bytes(_LENGTH, "big") + data)
        answers.flush()


def _compute(job: dict[str, Any]) -> LiveFigures | str:
    try:
        with open_database(job["database"]) as database:
            return compute_figures(database, StudioSettings.model_validate(job["settings"]))
    except Exception as error:
        log.exception("the live figures failed")
        return type(error).__name__


if __name__ == "__main__":
    if hasattr(os, "nice"):
        os.nice(_POLITE)
    work(sys.stdin.buffer, sys.stdout.buffer)
