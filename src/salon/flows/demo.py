"""The demo: a clearly labelled simulated designer study, checked, from one command and without a network."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from salon.check.check import check_study
from salon.check.report import check_page
from salon.check.results import CheckReport
from salon.flows.simulate import taste_like_study
from salon.store.folder import save_study


def demo(folder: Path) -> CheckReport:
    """Write `folder`/study and `folder`/check.html (and check.json beside it); gives the report."""
    folder.mkdir(parents=True, exist_ok=True)
    study = taste_like_study(controls=True)
    save_study(study, folder / "study", overwrite=True)
    report = check_study(study)
    (folder / "check.json").write_text(report.model_dump_json(indent=2), encoding="utf-8")
    check_page(report).write(folder / "check.html")
    return report


def _run(folder: Path) -> None:
    click.echo("Simulating a designer study (no person gave these answers) and checking it for signal ...")
    report = demo(folder)
    for criterion in report.criteria:
        click.echo(f"  {criterion.name:<34} {criterion.verdict}")
    click.echo(f"study:  {folder / 'study'}\nreport: {folder / 'check.html'}\n{report.signature_line}")


if __name__ == "__main__":
    _run(Path(sys.argv[1] if len(sys.argv) > 1 else "demo"))
