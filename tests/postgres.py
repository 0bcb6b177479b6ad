"""A real PostgreSQL for tests, and a fresh database for each, on either kind of database.

    @pytest.fixture(params=KINDS)
    def database(request, tmp_path):
        with open_database(fresh_url(request.param, tmp_path)) as database:
            yield database

The server starts with the first test that asks for one, listens on a socket in a folder of its own, and goes with the
process. Without its programs tests are skipped (with CI=true a skip is a failure).
"""

from __future__ import annotations

import atexit
import itertools
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from functools import cache
from pathlib import Path

import psycopg
import pytest

from salon.store import open_database

KINDS = ("sqlite", "postgresql")
_INSTALLED = ("/usr/lib/postgresql/*/bin", "/usr/local/pgsql/bin", "/opt/homebrew/opt/postgresql*/bin")
_GUARD = """folder=$0; "$@" & server=$!; read _; kill -QUIT $server; wait $server; rm -rf "$folder" """
"""The server ends when its guard's input does: with this process, however that dies."""
_GUARD_AGAIN = """"$@" & server=$!; read _; kill -QUIT $server; wait $server"""
_count = itertools.count(1)


def fresh_url(kind: str, folder: Path) -> str:
    """The URL of an empty database of `kind` with Salon's tables."""
    if kind == "sqlite":
        url = f"sqlite:///{folder / f'studio-{next(_count)}.db'}"
        open_database(url, create=True).close()
        return url
    return cluster().database(template="salon")


def empty_url(kind: str, folder: Path) -> str:
    """The URL of a database of `kind` without any table."""
    return f"sqlite:///{folder / f'empty-{next(_count)}.db'}" if kind == "sqlite" else cluster().database()


@cache
def cluster(*, fsync: bool = False) -> Cluster:
    """The one server of this process. It need not survive a power cut unless `fsync`."""
    programs = _programs()
    if programs is None:
        pytest.skip("the programs of PostgreSQL (initdb, pg_ctl) are not installed")
    started = Cluster(programs, fsync=fsync)
    atexit.register(started.stop)
    open_database(started.database(name="salon"), create=True).close()
    return started


class Cluster:
    """A server with its data in a folder that goes with it."""

    def __init__(self, programs: Path, *, fsync: bool) -> None:
        self._programs = programs
        self.folder = Path(tempfile.mkdtemp(prefix="salon-pg-"))  # short: a socket's path may have 107 characters
        self._who = _postgres_user()
        if self._who:
            os.chown(self.folder, self._who["user"], self._who["group"])
        data = str(self.folder / "data")
        self._run("initdb", "-D", data, "-U", "salon", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync")
        options = {"listen_addresses": "", "fsync": "on" if fsync else "off", "max_connections": "200"}
        settings = [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
        self._server = [str(programs / "postgres"), "-D", data, "-k", str(self.folder), *settings]
        self._guards = [self._start(_GUARD)]
        self._wait_until_ready()

    def url(self, name: str) -> str:
        """The URL of the database `name`."""
        return f"postgresql://salon@/{name}?host={self.folder}"

    def database(self, *, name: str | None = None, template: str = "template1") -> str:
        """The URL of a new database."""
        name = name or f"test_{os.getpid()}_{next(_count)}"
        with psycopg.connect(f"host={self.folder} user=salon dbname=postgres", autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        return self.url(name)

    def stop(self) -> None:
        """End the server; its folder goes too."""
        for guard in reversed(self._guards):
            guard.stdin.close()
            guard.wait(timeout=60)

    def crash(self) -> None:
        """Kill the server with SIGKILL, and start it again; it recovers from its log."""
        data = self.folder / "data"
        os.kill(int((data / "postmaster.pid").read_text().split()[0]), signal.SIGKILL)
        deadline = time.monotonic() + 60
        while _at_work_in(data):  # its processes take a moment to notice
            if time.monotonic() > deadline:
                raise RuntimeError("the processes of a killed server did not end")
            time.sleep(0.02)
        for lock in (data / "postmaster.pid", self.folder / ".s.PGSQL.5432.lock"):  # a dead server of ours held them
            lock.unlink()
        self._guards.append(self._start(_GUARD_AGAIN))
        self._wait_until_ready()

    def _start(self, guard: str) -> subprocess.Popen[bytes]:
        with open(self.folder / "log", "ab") as log:
            return subprocess.Popen(
                ["sh", "-c", guard, str(self.folder), *self._server],
                **{"cwd": "/", "stdin": subprocess.PIPE, "stdout": log, "stderr": log} | self._who,
            )

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + 60
        while True:
            try:
                psycopg.connect(f"host={self.folder} user=salon dbname=postgres").close()
                return
            except psycopg.OperationalError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    def _run(self, program: str, *arguments: str) -> None:
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "stdin": subprocess.DEVNULL}
        subprocess.run(
            [str(self._programs / program), *arguments], cwd=self.folder, timeout=90, check=True, **quiet, **self._who
        )


def _programs() -> Path | None:
    """The folder with the server's programs."""
    on_path = shutil.which("initdb")
    places = [Path(on_path).parent] if on_path else []
    places += [place for pattern in _INSTALLED for place in sorted(Path("/").glob(pattern[1:]), reverse=True)]
    return next((place for place in places if (place / "pg_ctl").exists()), None)


def _postgres_user() -> dict[str, object]:
    """As whom to run: PostgreSQL refuses to run as root."""
    if os.geteuid():
        return {}
    user = pwd.getpwnam("postgres")
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


def _at_work_in(folder: Path) -> bool:
    """Does any process work in this folder? A dead one that nobody has asked about does not."""
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and Path(os.readlink(entry / "cwd")) == folder:
                return True
        except OSError:
            continue
    return False
