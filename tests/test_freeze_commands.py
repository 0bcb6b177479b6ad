"""The tool that freezes behavior: its table misses no command, and it sees what changed."""

from __future__ import annotations

import pytest

from salon.cli.main import salon
from tools.freeze_commands import commands, not_covered, table
from tools.freeze_compare import TOLERANCE, differences


def test_the_table_covers_every_command() -> None:
    tree = dict(commands(salon))
    runs = table(tree, chat="http://127.0.0.1:1/v1")
    assert not_covered(tree, runs) == []
    assert "judge report" in not_covered(tree, [run for run in runs if run.path != ("judge", "report")])
    assert len({run.name for run in runs}) == len(runs)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ({"a": 1.0}, {"a": 1.0 + TOLERANCE / 2}, []),
        ({"a": 1.0}, {"a": 1.0 + 3 * TOLERANCE}, [".a: 1.0 became 1.000000003"]),
        ({"a": [1, {"b": "x"}]}, {"a": [1, {"b": "y"}]}, [".a[1].b: 'x' became 'y'"]),
        ({"a": 1}, {"b": 1}, [".a: only before", ".b: only after"]),
        ({"a": 1}, {"a": True}, [".a: 1 became True"]),
        ({"a": None}, {"a": 0.0}, [".a: None became 0.0"]),
        ([1, 2], [1], [":\n--- before\n+++ after\n@@ -2 +1,0 @@\n-2"]),
    ],
)
def test_differences(before: object, after: object, said: list[str]) -> None:
    assert list(differences(before, after)) == said
