"""The charts of a page as files for a paper: SVG, PDF and PNG in the widths of one and two columns, and CSV."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from salon.errors import BadFile, SalonError
from salon.report import ONE_COLUMN, TWO_COLUMNS, Section, paper_figures
from salon.store import put_file

if TYPE_CHECKING:
    from salon.bench.site.frame import SitePage

LIST = "figures.json"
"""Titles and captions; a folder that has it is one of figures."""


@dataclass(frozen=True)
class FigureFiles:
    """What was written, and what could not be."""

    folder: Path
    figures: int
    left_out: str = ""
    """Why there are no PDF and PNG files; empty where there are."""

    @property
    def words(self) -> str:
        """One line for people."""
        kinds = "SVG and CSV" if self.left_out else "SVG, PDF, PNG and CSV"
        count = f"{self.figures:,} figure{'' if self.figures == 1 else 's'}"
        return f"wrote {count} ({kinds}) to {self.folder}" + (f"; {self.left_out}" if self.left_out else "")


def write_figures(sections: Sequence[Section], folder: Path) -> FigureFiles:
    """Write every chart as NAME-85mm and NAME-178mm (.svg, .pdf, .png), its numbers as NAME.csv, captions as JSON.

    Without the library that paints, SVG and CSV are written, and the result says what is missing.
    """
    folder = figures_target(folder)
    left_out = ""
    try:
        from salon.render import chart_pdf, chart_png
    except SalonError as error:
        left_out = f"no PDF and PNG: {error.needed}. {error.remedy}"
    figures = paper_figures(sections)
    folder.mkdir(parents=True, exist_ok=True)
    for figure in figures:
        put_file(folder / f"{figure.name}.csv", figure.csv.encode())
        for width in (ONE_COLUMN, TWO_COLUMNS):
            stem = f"{figure.name}-{width}mm"
            put_file(folder / f"{stem}.svg", figure.svg(width).encode())
            if not left_out:
                tree = figure.tree(width)
                put_file(folder / f"{stem}.pdf", chart_pdf(tree))
                put_file(folder / f"{stem}.png", chart_png(tree))
    records = [{"name": figure.name, "title": figure.drawing.subject, "caption": figure.caption} for figure in figures]
    put_file(folder / LIST, (json.dumps({"figures": records}, ensure_ascii=False, indent=2) + "\n").encode())
    return FigureFiles(folder, len(figures), left_out)


class SiteFigures:
    """Figures of many pages: those of the first page in the folder itself, of others in a folder of their name."""

    def __init__(self, folder: Path) -> None:
        self.written = write_figures([], folder)

    def write_page(self, page: SitePage) -> None:
        """Write the charts of a page, if it has any."""
        if not paper_figures(page.sections):
            return
        name = page.path.removesuffix(".html")
        folder = self.written.folder / name if name != "index" else self.written.folder
        page_figures = write_figures(page.sections, folder)
        self.written = replace(self.written, figures=self.written.figures + page_figures.figures)


def figures_target(folder: Path) -> Path:
    """A folder that figures may be written to: new, empty, or with earlier figures. BadFile for anything else."""
    if folder.exists() and not (folder.is_dir() and ((folder / LIST).is_file() or not any(folder.iterdir()))):
        raise BadFile(
            "figures are written to a new or empty folder, or over earlier figures",
            found="a folder with other files" if folder.is_dir() else "a file",
            where=str(folder),
            remedy="name another folder",
        )
    return folder
