"""Is everything in order before people are let in? Looked at without changing anything."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from salon.collect.settings import FILE
from salon.collect.studio.open import database_file, describe_questions, first_plan, study_to_collect
from salon.collect.workload import workloads
from salon.errors import SalonError
from salon.generate.ready import ReadySettings, check_ready
from salon.store.database import open_database
from salon.store.database.errors import NoStudy, Unavailable
from salon.store.folder import open_study
from salon.study import Study
from salon.web.settings import PRIVATE, WebSettings, is_loopback, read_password, read_secret


@dataclass(frozen=True)
class Line:
    """One thing that was looked at."""

    name: str
    ok: bool
    words: str


def check_config(settings: WebSettings, db: str | None, *, progress: Callable[[str], None]) -> list[Line]:
    """The study, its studio.toml, the database, the pictures, the address and the private files, in this order."""
    folder = settings.folder
    return [
        _line("study", lambda: _study(folder)),
        _line(FILE, lambda: _settings(folder)),
        _line("database", lambda: _database(db or database_file(folder), folder)),
        _pictures(folder, progress),
        _address(settings),
        _line("private files", lambda: _private(folder)),
    ]


def _line(name: str, look: Callable[[], str]) -> Line:
    try:
        return Line(name, True, look())
    except SalonError as error:
        return Line(name, False, " · ".join(part.strip() for part in error.message().splitlines()))


def _study(folder: Path) -> str:
    study = open_study(folder)
    counts = study.counts
    return f"{study.name}: {counts.get('prompts', 0):,} prompts, {counts.get('items', 0):,} items"


def _settings(folder: Path) -> str:
    there = (folder / FILE).exists()
    settings, plan = first_plan(folder)
    asked = describe_questions(folder, settings, study_to_collect(folder).criteria)
    written = () if there else ("will be written at the first start",)
    return "; ".join([*asked, *map(str, workloads(plan)), *written])


def _database(url: str | Path, folder: Path) -> str:
    try:
        with open_database(url) as database:
            database.check_whole()
            with suppress(NoStudy):
                study = database.read_study()
                return f"{database.name} at revision {study.revision}{_newer_items(study, folder)}"
            return f"{database.name}, empty"
    except Unavailable as error:
        if error.found != "no such file":
            raise
        return "will be made at the first start"


def _newer_items(study: Study, folder: Path) -> str:
    """What the folder has and the studio does not: its items are those of its first start."""
    known = {item.id for item in study.nouns("items")}
    fresh = sum(item.id not in known for item in open_study(folder).nouns("items"))
    return (
        f" · {fresh:,} newer items of the folder are not shown: collect them as a study of their own" if fresh else ""
    )


def _pictures(folder: Path, progress: Callable[[str], None]) -> Line:
    try:
        report = check_ready(folder, ReadySettings(partial=True), progress=progress)
    except SalonError as error:
        return Line("pictures", False, error.needed)
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in report.kinds())
    return Line("pictures", report.ready, kinds or f"all {report.items:,} decode")


def _address(settings: WebSettings) -> Line:
    if settings.https or is_loopback(urlsplit(settings.address).hostname or ""):
        return Line("address", True, settings.address)
    return Line(
        "address", False, f"{settings.address} · others come without https: anyone on the way reads their links"
    )


def _private(folder: Path) -> str:
    if not (folder / PRIVATE / "secret").exists():
        return "will be made at the first start"
    read_secret(folder)
    return "mode 0600; " + ("a password is set" if read_password(folder) else "no password: the owner comes by link")
