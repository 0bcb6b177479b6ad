"""Several worker processes that serve one studio on one socket, and the supervisor that keeps them alive.

The supervisor holds the listening socket and no connection to the database. A worker that dies is started again, after
a pause if it did not live long. SIGTERM or SIGINT lets the workers finish the requests under way; when the supervisor
dies, they do the same. Workers are forked from a server process that has imported everything, so a new one is there in
a moment. What they must agree on is in the database: see `salon.store.database.coordination`.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import wait
from multiprocessing.context import ForkServerProcess

from fastapi import FastAPI

from salon.collect import Studio, follow_settings, open_studio
from salon.errors import SalonError
from salon.store import listen_for_news
from salon.web.app import create_app
from salon.web.images import show_studio
from salon.web.server import serve_app
from salon.web.settings import WebSettings

GRACEFUL_S = 5
"""How long requests under way may take when workers are told to stop."""
_POLL_S = 0.5
_LIVED_LONG_S, _LONGEST_PAUSE_S = 10.0, 5.0

log = logging.getLogger("salon.web")


# -- one worker --------------------------------------------------------------------------------------------------------


def serve_studio(studio: Studio, settings: WebSettings, listening: socket.socket) -> None:
    """Serve an open studio until this process is told to stop; on PostgreSQL, as one worker of any number."""
    app = create_app(studio, settings)
    with following(app):
        serve_app(app, settings, listening, graceful=GRACEFUL_S)


@contextmanager
def following(app: FastAPI) -> Iterator[None]:
    """While the block runs, the app follows what other workers change: settings, and figures they computed."""

    def on_news(what: str) -> None:
        studio: Studio = app.state.studio
        if what in ("", "settings"):
            newer = follow_settings(studio)
            if newer is not None:
                show_studio(app, newer)
        if what in ("", "figures"):
            studio.adopt_figures()

    with listen_for_news(app.state.studio.database, on_news):
        yield


def _work(settings: WebSettings, db: str, listening: socket.socket) -> None:
    """The life of a worker."""
    threading.Thread(target=_stop_with_the_supervisor, daemon=True).start()
    try:
        with open_studio(settings.folder, db, create=False, check=False) as studio:
            serve_studio(studio, settings, listening)
    except SalonError as error:  # the database is away: the supervisor starts another worker
        log.error("a worker cannot serve: %s", error)
        raise SystemExit(1) from None


def _stop_with_the_supervisor() -> None:
    supervisor = multiprocessing.parent_process()
    assert supervisor is not None
    supervisor.join()
    os.kill(os.getpid(), signal.SIGTERM)


# -- the supervisor ----------------------------------------------------------------------------------------------------


@dataclass
class _Worker:
    """One place among the workers, and the process that has it now."""

    process: ForkServerProcess | None = None
    started_at: float = 0.0
    pause: float = 0.0


class Supervisor:
    """Keeps `number` workers at work."""

    def __init__(self, number: int, settings: WebSettings, db: str, listening: socket.socket) -> None:
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload([__name__])
        self._job = (settings, db, listening)
        self._workers = [_Worker() for _ in range(number)]
        self._told_to_stop = False

    def run(self) -> None:
        """Until this process is told to stop; then the workers finish what they are at."""
        for kind in (signal.SIGTERM, signal.SIGINT):
            signal.signal(kind, self._stop)
        try:
            while not self._told_to_stop:
                self._start_missing()
                wait([worker.process.sentinel for worker in self._workers if worker.process is not None], _POLL_S)
        finally:
            self._end()

    def _stop(self, *_: object) -> None:
        self._told_to_stop = True

    def _start_missing(self) -> None:
        now = time.monotonic()
        for worker in self._workers:
            if worker.process is not None and worker.process.exitcode is not None:
                log.error("worker %d ended with %s", worker.process.pid or 0, worker.process.exitcode)
                worker.process.close()
                worker.process = None
                lived_long = now - worker.started_at > _LIVED_LONG_S
                worker.pause = 0.0 if lived_long else min(_LONGEST_PAUSE_S, 2 * worker.pause + 0.1)
            if worker.process is None and now - worker.started_at >= worker.pause and not self._told_to_stop:
                worker.process, worker.started_at = self._context.Process(target=_work, args=self._job), now
                worker.process.start()

    def _end(self) -> None:
        living = [worker.process for worker in self._workers if worker.process is not None]
        for process in living:
            process.terminate()
        ends = time.monotonic() + 2 * GRACEFUL_S
        for process in living:
            process.join(max(0.0, ends - time.monotonic()))
            if process.exitcode is None:
                process.kill()
                process.join()


def serve_workers(number: int, settings: WebSettings, db: str, listening: socket.socket) -> None:
    """Serve the studio of a folder, which was opened before, with `number` processes."""
    Supervisor(number, settings, db, listening).run()
