"""A leaderboard's site of 50 entries x 200 prompts: how long to build, how large, how soon it is seen and sorted.

    python -m benchmarks board_site
    python -m benchmarks.board_site 12 24                  entries, prompts

Pictures are 160 x 220 PNGs. Build: processor seconds of all threads from a judged board
to the whole folder, beside drawing the thumbnails alone; `wall` is what the clock says, `again` builds with the earlier
site in its place. `kib` is the largest page of each kind without pictures, beside the budget of 500. First paint:
Chromium's own first-contentful-paint of pages opened from the disk, median of five, beside the budget of a second and
an empty page. Sorting: the board's rows repeated to 1,000; seconds of the clock from the click until the first screen
is laid out in the new order, beside a tenth of a second and laying 1,000 rows out: at first, and after somebody
scrolled through all of them and back to the top. `worked` is what the page's thread works until nothing is left to do
(rows below the screen), `until_all_stand` until all 1,000 stand (they come as one scrolls, or prints), in processor
seconds.
"""

from __future__ import annotations

import json
import os
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from salon.bench import Board, build_site
from salon.bench.site.site_data import read_site_data, shown_pictures
from salon.store import make_thumbs
from tests.bench.board_example import make_board, make_suite
from tools.chromium import FLAGS, executable

ENTRIES, PROMPTS, RUNS, ROWS = 50, 200, 5, 1000
SIZE = (160, 220)
SORT = """() => {
  const button = document.querySelector('th[data-column=capability] button'), body = document.querySelector('.board');
  const start = performance.now();
  button.click();
  body.offsetHeight;
  return (performance.now() - start) / 1000;
}"""
LAY_OUT = """() => {
  const body = document.querySelector('.board').tBodies[0], rows = [...body.rows];
  body.replaceChildren();
  body.offsetHeight;
  const start = performance.now();
  body.append(...rows);
  body.offsetHeight;
  return (performance.now() - start) / 1000;
}"""
WHOLE = "document.querySelector('.board').tBodies[0].rows.length"
PRINT = "dispatchEvent(new Event('beforeprint')); document.body.offsetHeight"
THROUGH = "scrollTo(0, document.body.scrollHeight)"
BACK = "scrollTo(0, 0); dispatchEvent(new Event('afterprint'))"
PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null"


def main(entries: int, prompts: int) -> None:
    """Print three lines."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        options = {
            f"generator-{k:02}": {"skill": 0.99 - 0.6 * k / entries, "taste": 1.2 - 2 * k / entries, "size": SIZE}
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
    clock = time.perf_counter()
    start = spent()
    made = build_site(board, place / "site")
    first, wall = spent(), time.perf_counter() - clock
    build_site(board, place / "site")
    again = spent()
    list(make_thumbs([*shown_pictures(read_site_data(board)).values()], 480, place / "thumbs", lambda _: None))
    alone = spent() - again
    return {
        "ours": first - start,
        "peer_name": "thumbnails alone",
        "peer": alone,
        "limit": alone,
        "limit_name": "thumbnails alone",
        "again": round(again - first, 2),
        "wall": round(wall, 2),
        "pages": made.pages,
        "pictures": made.pictures,
        "cores": os.cpu_count(),
        "kib": page_sizes(place / "site"),
    }


def spent() -> float:
    """Processor seconds of this process and of those it started and that have ended."""
    return sum(os.times()[:4])


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
        while (seen := page.evaluate(PAINT)) is None:
            page.wait_for_timeout(20)
        found.append(seen / 1000)
        context.close()
    return statistics.median(found)


def sorted_rows(chromium: Any, place: Path) -> dict[str, Any]:
    """Medians of what passes from a click on a heading until rows stand in their new order."""
    page = chromium.new_page(viewport={"width": 1280, "height": 900})
    page.goto(many_rows(place / "site" / "index.html").as_uri())
    meter = page.context.new_cdp_session(page)
    meter.send("Performance.enable", {"timeDomain": "threadTicks"})
    first, worked, scrolled, whole, least = [], [], [], [], []
    for _ in range(RUNS):
        page.wait_for_timeout(500)
        start = busy(meter)
        first.append(page.evaluate(SORT))
        page.wait_for_timeout(500)
        worked.append(busy(meter) - start)
    for _ in range(RUNS):
        start = busy(meter)
        page.evaluate(PRINT)
        assert page.evaluate(WHOLE) == ROWS
        whole.append(worked[-1] + busy(meter) - start)
        least.append(page.evaluate(LAY_OUT))
        page.evaluate(THROUGH)
        page.wait_for_timeout(200)
        page.evaluate(BACK)
        page.wait_for_timeout(1000)
        scrolled.append(page.evaluate(SORT))
    page.close()
    return {
        "ours": statistics.median(first),
        "peer_name": "a tenth of a second, felt as instant",
        "peer": 0.1,
        "limit": statistics.median(least),
        "limit_name": "laying 1,000 rows out",
        "after_scrolling_through_all": round(statistics.median(scrolled), 4),
        "worked": round(statistics.median(worked), 4),
        "until_all_stand": round(statistics.median(whole), 4),
    }


def many_rows(index: Path) -> Path:
    """The front page with its rows again and again, each with a number of its own to be sorted by."""
    text = index.read_text(encoding="utf-8")
    start, end = text.index("<tbody>") + len("<tbody>"), text.index("</tbody>")
    rows = [row + "</tr>" for row in text[start:end].split("</tr>")[:-1]]
    drawn = (f'data-sort="{(k * 7919) % 10007 / 100}"' for k in count())
    many = [re.sub(r'data-sort="[0-9.]+"', lambda _: next(drawn), rows[k % len(rows)]) for k in range(ROWS)]
    path = index.with_name("many.html")
    path.write_text(text[:start] + "".join(many) + text[end:], encoding="utf-8")
    return path


def busy(meter: Any) -> float:
    """Processor seconds that the page's own thread has worked."""
    return next(
        one["value"] for one in meter.send("Performance.getMetrics")["metrics"] if one["name"] == "TaskDuration"
    )


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:3])) if len(sys.argv) > 2 else main(ENTRIES, PROMPTS)
