"""`salon ...` run in this process: how it left, and what it printed."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from salon.cli.main import run


@dataclass(frozen=True)
class Told:
    """What a command printed and how it left."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """What machines are told: JSON without NaN and infinity."""

        def refuse(word: str) -> float:
            raise AssertionError(f"{word} in JSON")

        return json.loads(self.out, parse_constant=refuse)

    @property
    def error(self) -> str:
        """The error's own name."""
        return str(self.json["error"])


Salon = Callable[..., Told]


def exit_code(*arguments: object) -> int:
    """How the command leaves."""
    with pytest.raises(SystemExit) as left:
        run([str(argument) for argument in arguments])
    return int(left.value.code or 0)


def salon(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, Any]:
    """Exit code, and what was printed."""
    return exit_code(*arguments), capsys.readouterr()
