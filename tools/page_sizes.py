"""Measure pages in Chromium: `python -m tools.page_sizes FOLDER_OR_PAGE... [--shots FOLDER]`.

One line for each page: its size, how long it takes to open, its height and visible words on a desk and on a phone, what
can be scrolled sideways, and charts that cannot be saved. `--shots` also writes a picture of each page, at both widths,
light and dark.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from tools.chromium import FLAGS, executable

WIDTHS = (1280, 390)
THEMES = ("light", "dark")
TALLEST_SHOT = 16_000
"""Pixels: Chromium draws no higher picture."""
FIGURES = """() => {
  const root = document.documentElement;
  const loose = [...document.querySelectorAll("svg.chart")].filter((svg) => !svg.closest("figure.saveable"));
  const opened = performance.getEntriesByType("navigation")[0];
  return {
    height: root.scrollHeight,
    words: document.body.innerText.split(/\\s+/).filter(Boolean).length,
    sideways: root.scrollWidth - root.clientWidth,
    unsaved: loose.length,
    ready: opened.domContentLoadedEventEnd,
    loaded: opened.loadEventEnd,
  };
}"""


@dataclass(frozen=True)
class PageSize:
    """A page at one width; times are milliseconds."""

    height: int
    words: int
    sideways: int
    unsaved: int
    ready: float
    loaded: float


def measure_page(browser: Browser, path: Path, width: int, theme: str = "light", shot: Path | None = None) -> PageSize:
    """The page as it opens, nothing unfolded; its picture goes to `shot`."""
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme="dark" if theme == "dark" else "light"
    )
    try:
        page = context.new_page()
        page.goto(path.resolve().as_uri(), wait_until="load")
        found = page.evaluate(FIGURES)
        if shot is not None:
            height = min(found["height"], TALLEST_SHOT)
            page.screenshot(path=shot, full_page=True, clip={"x": 0, "y": 0, "width": width, "height": height})
        return PageSize(**found)
    finally:
        context.close()


def find_pages(places: Sequence[Path]) -> list[Path]:
    """Every .html file that is named or lies below a folder that is."""
    return [page for place in places for page in ([place] if place.is_file() else sorted(place.rglob("*.html")))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("places", nargs="+", type=Path, metavar="FOLDER_OR_PAGE")
    parser.add_argument("--shots", type=Path, metavar="FOLDER")
    asked = parser.parse_args()
    if asked.shots:
        asked.shots.mkdir(parents=True, exist_ok=True)
    print("| page | KiB | ready ms | loaded ms | height 1280 | words | height 390 | words 390 | sideways | unsaved |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=executable(), args=FLAGS)
        for path in find_pages(asked.places):
            desk, phone = (measure_page(browser, path, width) for width in WIDTHS)
            figures = (
                path.stat().st_size // 1024, round(desk.ready), round(desk.loaded), desk.height, desk.words,
                phone.height, phone.words, max(desk.sideways, phone.sideways), desk.unsaved,
            )  # fmt: skip
            print(f"| {path} | {' | '.join(f'{figure:,}' for figure in figures)} |", flush=True)
            if asked.shots:
                name = "-".join(path.with_suffix("").parts[-3:])
                for width in WIDTHS:
                    for theme in THEMES:
                        measure_page(browser, path, width, theme, asked.shots / f"{name}-{width}-{theme}.png")
        browser.close()


if __name__ == "__main__":
    main()
