"""A help loads next to nothing: commands import what they work with when they run."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

HEAVY = frozenset(
    {"numpy", "scipy", "numba", "pyarrow", "pandas", "torch", "transformers", "PIL", "sqlalchemy", "alembic", "psycopg"}
    | {"fastapi", "starlette", "uvicorn", "rapidocr", "onnxruntime", "cv2", "skia", "jinja2", "httpx2", "ray"}
    | {"pydantic"}
)
LIGHT = frozenset({"pydantic", "numpy", "pyarrow", "PIL"})
"""What the settings behind flags, and the kinds of files that a help lists, may load: a quarter of a second in all."""
MORE = {"generate": {"skia"}}
"""The help of `generate` lists the houses, which say of themselves what they draw with."""

WALK = """
import io, json, os, sys
import click
from salon.cli.main import run, salon

HEAVY = set(json.loads(sys.argv[1]))


def one(words):
    reads, writes = os.pipe()
    if os.fork() == 0:
        sys.stdout = io.StringIO()
        try:
            run([*words, "--help"])
        except SystemExit as end:
            code = end.code
        command, context = salon, click.Context(salon)
        loaded = sorted(HEAVY & set(sys.modules))
        for word in words:
            command = command.get_command(context, word)
        inside = command.list_commands(context) if isinstance(command, click.Group) else []
        os.write(writes, json.dumps([code, loaded, inside, sys.stdout.getvalue()[:6]]).encode())
        os._exit(0)
    os.close(writes)
    with os.fdopen(reads) as told:
        code, loaded, inside, said = json.loads(told.read())
    os.wait()
    assert (code, said) == (0, "Usage:"), words
    return [[" ".join(words), loaded], *(row for word in inside for row in one([*words, word]))]


print(json.dumps(one([])))
"""
"""Every help in a fork of a process that has loaded the terminal library alone."""


@pytest.fixture(scope="module")
def loaded_by_help() -> dict[str, set[str]]:
    """By command: the heavy modules that its help loads."""
    words = [sys.executable, "-c", WALK, json.dumps(sorted(HEAVY))]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=600)
    return {command: set(loaded) for command, loaded in json.loads(done.stdout)}


def test_helps_load_nothing_heavy(loaded_by_help: dict[str, set[str]]) -> None:
    assert len(loaded_by_help) > 70
    beyond = {command: found - LIGHT - MORE.get(command, set()) for command, found in loaded_by_help.items()}
    assert {command: found for command, found in beyond.items() if found} == {}


def test_helps_of_groups_that_are_lists_load_nothing(loaded_by_help: dict[str, set[str]]) -> None:
    assert {command: loaded_by_help[command] for command in ("", "bench", "distill", "select")} == {
        command: set() for command in ("", "bench", "distill", "select")
    }


def test_helps_of_the_studio_load_no_arrays(loaded_by_help: dict[str, set[str]]) -> None:
    for command in ("serve", "invite", "status", "backup", "restore", "erase"):
        assert loaded_by_help[command] <= {"pydantic"}, command
