"""docs/evidence/benchmarks.md: what benchmarks printed on one machine, kept in benchmarks/lines.jsonl between runs."""

from __future__ import annotations

import ast
import json
import os
import platform
import textwrap
from importlib.metadata import version
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
KEPT = HERE / "lines.jsonl"
PAGE = HERE.parent / "docs" / "evidence" / "benchmarks.md"
ROOMS = {
    "Studies and signal": (
        "load_1e7", "check_1e6", "csv_1e6", "alpha_1e6", "null_4_5", "null_5_5", "reach", "start_up", "helps",
        "first_use",
    ),
    "Scores from comparisons": (
        "bt_1e7", "davidson_1e7", "elo_1e7", "bootstrap_1e7", "growth", "anchored_elo", "active_pairs",
    ),
    "Drawing": ("render", "made_posters"),
    "The studio": ("serve", "submit", "studio_growth", "studio_load", "workers", "next_question"),
    "Asking models": ("calls", "judge_calls"),
    "Learning": ("encode", "train_heads", "reward_pairs_1e6"),
    "Leaderboards": ("board_results", "board_site", "arena_covariates"),
    "Selecting": ("scoring_service", "rewards", "decision_log"),
}  # fmt: skip
SHOWN = ("benchmark", "machine", "name", "ours", "peer_name", "peer", "ratio", "limit", "limit_name", "unit")
HEAD = """# Benchmarks

Written by `make bench`, which runs them one after the other, each in a fresh process; `make bench ONLY=name` measures
one and leaves the other rows. Ours and its peer run in the same run on the same input. *Limit* is the least that any
such method must do. Where the unit is a time, *ratio* is the peer's over ours, so more than 1 is faster; where it is a
rate, or a count that should be whole, ours over the peer's. What exactly is measured stands in the first lines of each
file of [benchmarks](../../benchmarks/README.md); which aims were reached, in [claims](../claims.md).

Measured on: {machine}."""


def machine() -> str:
    """What the figures depend on."""
    cpu = Path("/proc/cpuinfo")
    lines = cpu.read_text().splitlines() if cpu.is_file() else []
    model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine())
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "numba", "torch"))
    return f"{model}, {os.cpu_count()} cores, {memory:.0f} GiB; Python {platform.python_version()}, {packages}"


def keep(name: str, lines: list[dict[str, Any]]) -> None:
    """Put the lines of one benchmark in the place of its earlier ones, and write the page. One page has one machine."""
    here = machine()
    old = [json.loads(line) for line in KEPT.read_text().splitlines()] if KEPT.is_file() else []
    rows = [row for row in old if row["benchmark"] != name and row["machine"] == here]
    rows += [{"benchmark": name, "machine": here} | line for line in lines]
    rows.sort(key=lambda row: row["benchmark"])
    KEPT.write_text("".join(json.dumps(row) + "\n" for row in rows))
    PAGE.write_text(page(rows))


def page(rows: list[dict[str, Any]]) -> str:
    """The whole page."""
    parts = [HEAD.format(machine=rows[0]["machine"])]
    measured = {row["benchmark"] for row in rows}
    missing = [name for names in ROOMS.values() for name in names if name not in measured]
    if missing:
        parts.append(textwrap.fill(f"Not measured on it: {', '.join(f'`{name}`' for name in missing)}.", 118))
    for room, names in ROOMS.items():
        if measured & set(names):
            parts.append(f"## {room}")
        for name in names:
            if lines := [row for row in rows if row["benchmark"] == name]:
                parts += [textwrap.fill(f"**`{name}`**: {title(name)}", 118), table(lines)]
    return "\n\n".join(parts) + "\n"


def title(name: str) -> str:
    """The first paragraph of a benchmark's docstring."""
    doc = ast.get_docstring(ast.parse((HERE / f"{name}.py").read_text())) or ""
    return " ".join(doc.split("\n\n")[0].split())


def table(lines: list[dict[str, Any]]) -> str:
    """A row for each line."""
    head = ("measured", "ours", "peer", "ratio", "limit", "unit", "also")
    rows = [head, ["---"] * len(head)]
    for line in lines:
        name = line["name"].removeprefix(line["benchmark"]).lstrip(":_ ") or line["benchmark"]
        also = "; ".join(f"{key.replace('_', ' ')} {words(value)}" for key, value in line.items() if key not in SHOWN)
        ours, ratio = number(line["ours"]), number(line["ratio"])
        rows.append((name, ours, named(line, "peer"), ratio, named(line, "limit"), line["unit"], also))
    return "\n".join("| " + " | ".join(cell.replace("|", "&#124;") for cell in row) + " |" for row in rows)


def named(line: dict[str, Any], key: str) -> str:
    """A number, and what it is of."""
    name = line.get(f"{key}_name")
    return f"{number(line[key])} ({name})" if name else number(line[key])


def words(value: Any) -> str:
    """What stands in the last column."""
    if isinstance(value, dict):
        return ", ".join(f"{key} {words(inner)}" for key, inner in value.items())
    return ", ".join(map(words, value)) if isinstance(value, list) else number(value)


def number(value: Any) -> str:
    """Three digits that count."""
    if value is None:
        return "–"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
