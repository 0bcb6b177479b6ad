"""The command that shows a study's pictures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from salon.cli.console import count, json_option, print_json, say, working
from salon.errors import BadFile, BadValue
from salon.generate.gallery import Gallery, write_gallery
from salon.generate.sheet import study_sheet
from salon.report.page import page_target
from salon.store.atomic import whole_file


@click.command()
@click.argument("study", type=click.Path(path_type=Path))
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="Write the page here.")
@click.option("--embed", is_flag=True, help="Put thumbnails into the page, which then needs no other file.")
@click.option("--width", type=click.IntRange(64, 2048), default=480, show_default=True, help="Width of thumbnails.")
@click.option("--sheet", type=click.Path(path_type=Path, dir_okay=False), help="Write one PNG with a grid of items.")
@click.option("--columns", type=click.IntRange(1, 40), default=4, show_default=True, help="Columns of the sheet.")
@click.option("--count", type=click.IntRange(1, 1000), default=12, show_default=True, help="Items on the sheet.")
@click.option(
    "--item", "items", multiple=True, metavar="ID", help="This item on the sheet, in this order (repeatable)."
)
@click.option(
    "--sheet-width", type=click.IntRange(100, 8192), default=1600, show_default=True, help="Pixels across the sheet."
)
@json_option
def gallery(
    study: Path,
    output: Path | None,
    embed: bool,
    width: int,
    sheet: Path | None,
    columns: int,
    count: int,
    items: Sequence[str],
    sheet_width: int,
    as_json: bool,
) -> None:
    """A contact sheet of the pictures of STUDY: prompts down, generators across.

    The page needs no network. It shows what failed in its place, filters by category and generator, and opens a
    picture in full by a click. Thumbnails stand in a folder beside it, or in the page itself with --embed.

    \b
      salon gallery study -o gallery.html
      salon gallery study -o gallery.html --embed             one file to send
      salon gallery study --sheet sheet.png --columns 6 --count 24
    """
    if output is None and sheet is None:
        raise BadValue("something to write is needed", found="neither -o nor --sheet", remedy="add -o gallery.html")
    if output is not None:
        page_target(output)  # refuse before drawing what could not be written after
    if sheet is not None:
        _check_sheet(sheet)
        data = study_sheet(study, items=items, count=count, columns=columns, width=sheet_width)
        with whole_file(sheet) as file:
            file.write(data)
    made = None
    if output is not None:
        with working("thumbnails") as step:
            made = write_gallery(study, output, embed=embed, width=width, progress=step)
    _tell(study, made, output, sheet, as_json)


def _check_sheet(path: Path) -> None:
    if path.suffix.lower() != ".png":
        raise BadFile("a sheet is written as .png", found=path.name, remedy=path.with_suffix(".png").name)
    if not path.absolute().parent.is_dir():
        raise BadFile("the folder of the sheet must be there", found="none", where=str(path.absolute().parent))


def _tell(study: Path, made: Gallery | None, output: Path | None, sheet: Path | None, as_json: bool) -> None:
    if as_json:
        counts = {} if made is None else {"prompts": len(made.rows), "generators": list(made.generators),
                                          "pictures": made.pictures, "failed": made.failed}  # fmt: skip
        files = {name: None if path is None else str(path) for name, path in (("page", output), ("sheet", sheet))}
        print_json({"study": str(study), **files, **counts})
        return
    if made is not None:
        failed = f", {made.failed:,} could not be shown" if made.failed else ""
        say(f"{count(made.pictures, 'picture')} of {count(len(made.rows), 'prompt')}{failed}: {output}")
    if sheet is not None:
        say(f"sheet: {sheet}")
