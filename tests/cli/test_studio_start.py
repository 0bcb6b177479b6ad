"""A studio starts fast because it loads only what it serves with: a restart is then no outage."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from salon.store import save_study
from salon.study import Criterion, Item, Prompt, Study

SERVER = ("alembic", "fastapi", "psycopg", "pyarrow", "sqlalchemy", "uvicorn")
NUMBERS = ("cv2", "numba", "onnxruntime", "pandas", "rapidocr", "scipy", "torch", "transformers")
LATER = tuple(name for name in NUMBERS if name != "pandas")
"""What a studio must not load to open; where pandas is installed, pyarrow loads it for a table."""


def loaded(names: tuple[str, ...], *arguments: str, before: str = "") -> list[str]:
    """Which of the modules a fresh `salon` has loaded when it ends well."""
    code = (
        f"import sys\nfrom salon.cli.main import run\n{before}\n"
        f"try:\n    run({list(arguments)!r})\nexcept SystemExit as end:\n    assert end.code == 0, end.code\n"
        f"print('loaded', *[name for name in {names!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    first, *rest = done.stdout.splitlines()[-1].split()
    assert first == "loaded"
    return rest


@pytest.mark.parametrize("command", ["serve", "status", "invite"])
def test_help_loads_neither_server_nor_tables(command: str) -> None:
    assert loaded((*SERVER, *NUMBERS, "numpy"), command, "--help") == []


def test_a_start_loads_no_statistics_and_no_migrations(tmp_path: Path) -> None:
    items = [Item(id=f"i{k}", prompt="p", image=f"images/{k}.png") for k in range(3)]
    tables = {"prompts": [Prompt(id="p", text="A cat")], "items": items}
    save_study(Study.build("small", [Criterion(id="overall")], tables=tables), tmp_path / "study")
    start = ("serve", str(tmp_path / "study"), "--port", "0")
    closed = "import salon.web.server\nsalon.web.server.serve_app = lambda *_, **__: None"
    assert loaded(("alembic",), *start, before=closed) == ["alembic"]  # the first start makes the tables
    assert loaded(("alembic", "psycopg", *LATER), *start, before=closed) == []
    assert loaded(("alembic", "psycopg", *LATER), "status", str(tmp_path / "study")) == []
