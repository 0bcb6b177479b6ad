"""The command that writes labels for training."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("study", type=click.Path(path_type=Path))
def labels(study: Path) -> None:
    """Labels for training from STUDY."""
    raise click.UsageError(f"labels of {study} cannot be made yet")
