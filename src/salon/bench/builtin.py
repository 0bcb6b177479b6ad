"""Suites that come with Salon."""

from __future__ import annotations

import difflib
import tomllib
from importlib.resources import files
from pathlib import Path

from salon.errors import BadFile


def builtin_suites() -> dict[str, str]:
    """Name of every built-in suite, and what it is about."""
    return {folder.name: _about(folder) for folder in _folders()}


def builtin_folder(name: str) -> Path:
    """The folder of the built-in suite `name`; BadFile when there is none."""
    for folder in _folders():
        if folder.name == name:
            return folder
    names = [folder.name for folder in _folders()]
    near = difflib.get_close_matches(name, names, n=1)
    raise BadFile(
        "a suite is needed: a folder with a suite.toml in it, or the name of a built-in one",
        found="a folder without a suite.toml" if Path(name).is_dir() else "nothing there",
        where=name,
        remedy=f"did you mean {near[0]!r}?" if near else f"built in: {', '.join(names) or 'none'}; salon bench list",
    )


def _folders() -> list[Path]:
    home = Path(str(files("salon.bench"))) / "suites"
    return sorted(path.parent for path in home.glob("*/suite.toml"))


def _about(folder: Path) -> str:
    card = tomllib.loads((folder / "suite.toml").read_text(encoding="utf-8"))
    return str(card.get("title", ""))
