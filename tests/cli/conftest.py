"""Commands as a user types them."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from ran_salon import Salon, Told, exit_code


@pytest.fixture
def salon(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Salon:
    """Run `salon ...` in an empty folder: a line, or its words. No failure shows a traceback."""
    monkeypatch.chdir(tmp_path)

    def command(line: object, *more: object) -> Told:
        code = exit_code(line, *more) if more else exit_code(*shlex.split(str(line)))
        printed = capsys.readouterr()
        assert "Traceback" not in printed.out + printed.err
        assert "Salon failed" not in printed.err, printed.err
        return Told(code, printed.out, printed.err)

    return command
