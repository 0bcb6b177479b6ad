"""The command that makes training pairs of the field's files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from salon.cli.console import json_option, print_json, say
from salon.cli.options import options_from, settings_from
from salon.store.formats.training_pairs import READERS, PairSettings, write_pairs


@click.command()
@click.argument("kind", type=click.Choice(list(READERS)), metavar="KIND")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path, dir_okay=False), help="Parquet file to write."
)
@click.option(
    "--images", type=click.Path(path_type=Path, file_okay=False), help="Where Pick-a-Pic's pictures are written."
)
@options_from(PairSettings)
@json_option
def pairs(kind: str, files: Sequence[Path], output: Path, images: Path | None, as_json: bool, **flags: Any) -> None:
    """Write the labelled pairs of FILES for salon train reward; KIND is hpdv3, hpdv2, pickapic or imagereward.

    The files pass by record for record, so a million pairs need no more memory than a thousand. Small files may as well
    be imported as a study, judged, checked, and written by salon labels.

    \b
      salon train pairs hpdv3 HPDv3/all.json -o pairs.parquet
      salon train pairs imagereward test.json -o test.parquet --train 0 --validation 0 --test 1
      salon train pairs pickapic train-*.parquet --images pickapic -o pickapic/pairs.parquet
    """
    written = write_pairs(kind, files, output, settings_from(PairSettings, flags), images=images)
    if as_json:
        print_json({"output": str(output), "kind": kind, **written.model_dump(mode="json")})
        return
    splits = ", ".join(f"{count:,} {name}" for name, count in written.splits.items())
    say(f"wrote {written.rows:,} pairs to {output}: {splits}", bold=True)
    for reason, count in written.left_out.items():
        say(f"- left out: {count:,} {reason}")
    if written.sorted:
        say(f"- choice_dist gave path2 more votes in {written.sorted:,} pairs: sorted, as the released code does")
    say(f"next: salon train reward {output} -o MODEL", dim=True)
