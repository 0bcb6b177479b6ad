"""A leaderboard's site of 50 entries x 200 prompts: how long to build, how large, how soon it is seen and sorted.

    python -m benchmarks board_site
    python -m benchmarks.board_site 12 24                  entries, prompts

Pictures are 512 x 704 PNGs. Build: wall seconds from a judged board to the whole folder, beside drawing the thumbnails
alone; `again` with the earlier site in its place. First paint: Chromium's own first-contentful-paint of pages opened
from the disk, median of five, beside the budget of a second and an empty page. Sorting: the board's rows cloned to
1,000, from the click until they are laid out again, beside a tenth of a second and laying them out alone.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from salon.bench.board import Board
from salon.bench.site import build_site
from salon.bench.site.material import read_material
from salon.bench.site.pictures import shown_pictures
from salon.store.thumbs import thumbs
from tests.bench.board_example import make_board, make_suite
from tests.browser import FLAGS, executable

ENTRIES, PROMPTS, RUNS = 50, 200, 5
CLONE = """() => {
  const body = document.querySelector('.board').tBodies[0], rows = [...body.rows];
  for (let k = 0; body.rows.length < 1000; k++) {
    const row = rows[k % rows.length].cloneNode(true);
    [...row.cells].forEach(cell => { if (cell.dataset.tier) cell.dataset.sort = Math.sin(k) * 50 + 50; });
    body.append(row);
  }
  return body.offsetHeight;
}"""
SORT = """() => {
  const button = document.querySelector('th[data-column=capability] button'), body = document.querySelector('.board');
  const start = performance.now();
  button.click();
  body.offsetHeight;
  return performance.now() - start;
}"""
LAY_OUT = """() => {
  const body = document.querySelector('.board').tBodies[0];
  body.style.display = 'none';
  body.offsetHeight;
  const start = performance.now();
  body.style.display = '';
  body.offsetHeight;
  return performance.now() - start;
}"""
PAINT = "performance.getEntriesByName('first-contentful-paint')[0].startTime"


def main(entries: int, prompts: int) -> None:
    """Print three lines."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        options = {
            f"generator-{k:02}": {"skill": 0.99 - 0.6 * k / entries, "taste": 1.2 - 2 * k / entries, "size": (512, 704)}
            for k in range(entries)
        }
        board, _ = make_board(place / "board", make_suite(prompts, groups=min(12, prompts // 2)), options)
        tell("build", **built(board, place))
        with browser() as chromium:
            tell("first paint", **painted(chromium, place))
            tell("sort 1,000 rows", **sorted_rows(chromium, place))


def tell(what: str, ours: float, peer_name: str, peer: float, limit: float, limit_name: str, **more: Any) -> None:
    """One JSON line; times in seconds."""
    line = {"name": f"board_site: {what}", "ours": round(ours, 4), "peer_name": peer_name, "peer": round(peer, 4),
            "ratio": round(peer / ours, 2), "limit": round(limit, 4), "limit_name": limit_name,
            "unit": "s"}  # fmt: skip
    print(json.dumps(line | more), flush=True)


def built(board: Board, place: Path) -> dict[str, Any]:
    """Seconds to build from nothing, to build again, and to draw the thumbnails alone; sizes of pages."""
    start = time.perf_counter()
    made = build_site(board, place / "site")
    first = time.perf_counter()
    build_site(board, place / "site")
    again = time.perf_counter()
    list(thumbs([*shown_pictures(read_material(board)).values()], 480, place / "thumbs", lambda _: None))
    alone = time.perf_counter() - again
    return {
        "ours": first - start,
        "peer_name": "thumbnails alone",
        "peer": alone,
        "limit": alone,
        "limit_name": "thumbnails alone",
        "again": round(again - first, 2),
        "pages": made.pages,
        "pictures": made.pictures,
        "cores": os.cpu_count(),
        "kib": page_sizes(place / "site"),
    }


def page_sizes(site: Path) -> dict[str, float]:
    """KiB of the largest page of each kind, and of what all share."""
    largest = {
        str(path.relative_to(site)) if path.parent == site else f"{path.parent.name}/": 0
        for path in site.rglob("*.html")
    }
    for path in site.rglob("*.html"):
        kind = str(path.relative_to(site)) if path.parent == site else f"{path.parent.name}/"
        largest[kind] = max(largest[kind], path.stat().st_size)
    largest["assets"] = sum(path.stat().st_size for path in (site / "assets").iterdir())
    return {kind: round(size / 1024, 1) for kind, size in sorted(largest.items())}


@contextmanager
def browser() -> Iterator[Any]:
    """A running Chromium."""
    with sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=executable(), args=FLAGS)
        yield opened
        opened.close()


def painted(chromium: Any, place: Path) -> dict[str, Any]:
    """First contentful paint of the board, of a prompt's page and of an empty page."""
    (place / "empty.html").write_text("<!doctype html><title>empty</title><p>empty")
    prompt = next(path for path in sorted((place / "site" / "prompts").glob("*.html")) if path.stem != "index")
    board, one, empty = (
        first_paint(chromium, path) for path in (place / "site" / "index.html", prompt, place / "empty.html")
    )
    return {
        "ours": board,
        "peer_name": "budget",
        "peer": 1.0,
        "limit": empty,
        "limit_name": "an empty page",
        "prompt_page": round(one, 4),
    }


def first_paint(chromium: Any, path: Path) -> float:
    """Median seconds over RUNS fresh contexts."""
    found = []
    for _ in range(RUNS):
        context = chromium.new_context(viewport={"width": 1280, "height": 900})
        page = context.new_page()
        page.goto(path.as_uri())
        page.wait_for_function("performance.getEntriesByName('first-contentful-paint').length")
        found.append(page.evaluate(PAINT) / 1000)
        context.close()
    return statistics.median(found)


def sorted_rows(chromium: Any, place: Path) -> dict[str, Any]:
    """Median seconds from a click on a heading until 1,000 rows stand in their new order."""
    page = chromium.new_page(viewport={"width": 1280, "height": 900})
    page.goto((place / "site" / "index.html").as_uri())
    page.evaluate(CLONE)
    seconds = [page.evaluate(SORT) / 1000 for _ in range(RUNS)]
    least = [page.evaluate(LAY_OUT) / 1000 for _ in range(RUNS)]
    page.close()
    return {
        "ours": statistics.median(seconds),
        "peer_name": "a tenth of a second, felt as instant",
        "peer": 0.1,
        "limit": statistics.median(least),
        "limit_name": "laying the rows out",
    }


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:3])) if len(sys.argv) > 2 else main(ENTRIES, PROMPTS)
