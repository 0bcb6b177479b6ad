"""salon bench site: a board as pages."""

from __future__ import annotations

from pathlib import Path

import click

from salon.bench.board import open_board
from salon.bench.figures import SiteFigures
from salon.bench.site import build_site
from salon.cli.console import counting, figures_option, json_option, print_json, say


@click.command()
@click.argument("board", type=click.Path(path_type=Path))
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="Folder of the site.")
@click.option("--title", help="Title of the site; that of the suite when not given.")
@click.option("--width", type=click.IntRange(64, 2048), default=480, show_default=True, help="Width of thumbnails.")
@click.option("-q", "--quiet", is_flag=True, help="No bar.")
@figures_option
@json_option
def site(
    board: Path, output: Path, title: str | None, width: int, quiet: bool, figures: Path | None, as_json: bool
) -> None:
    """Write BOARD as a folder of pages that works from the disk and from any web server.

    The folder holds the board, a page for each entry and each prompt, tags, methods and downloads, and thumbnails of
    the pictures. An earlier site in the same folder is replaced whole; any other folder is left alone.

    \b
      salon bench site boards/posters -o site
      salon bench site boards/posters -o site --title "Posters, spring"
      salon bench site boards/posters -o site --figures figures     its charts for a paper, a folder for each page
    """
    with counting("pictures and pages", quiet=quiet or as_json) as step:
        charts = None if figures is None else SiteFigures(figures)
        on_page = None if charts is None else charts.write_page
        made = build_site(open_board(board), output, title=title, width=width, progress=step, on_page=on_page)
    if charts is not None:
        say(charts.written.words, err=True)
    if as_json:
        print_json({"site": str(output), "pages": made.pages, "pictures": made.pictures, "broken": made.broken})
        return
    broken = f", {made.broken:,} could not be read" if made.broken else ""
    say(f"{made.pages:,} pages, {made.pictures:,} pictures{broken}: {output / 'index.html'}")
