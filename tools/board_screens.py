"""Photograph a leaderboard's site for docs/guide/leaderboard.md: `python -m tools.board_screens SITE`.

SITE is a folder written by `salon bench site` with an arena's snapshot; the guide's is the demo's board.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

from tools.chromium import FLAGS, executable

SCREENS = Path(__file__).parent.parent / "docs" / "guide" / "board-screens"
DESK, PHONE = (1280, 1180), (390, 844)
SHOWN, QUALITY, GAP = 960, 78, 24
"""Pixels across in the guide, JPEG quality, and paper between phones."""
PICTURES = "[...document.querySelectorAll('.seen img')]"
EAGER = f"{PICTURES}.forEach(one => {{ one.loading = 'eager'; one.decoding = 'sync'; }})"
DECODED = f"Promise.all({PICTURES}.map(one => one.decode()))"


def seen(browser: Browser, address: str, size: tuple[int, int], theme: Any, at: str = "") -> Image.Image:
    """A page as it is first seen, or from the element `at` on."""
    context = browser.new_context(viewport={"width": size[0], "height": size[1]}, color_scheme=theme)
    page = context.new_page()
    page.goto(address)
    page.evaluate(EAGER)
    if at:
        page.evaluate("at => document.querySelector(at).scrollIntoView({ behavior: 'instant' })", at)
    page.evaluate(DECODED)
    page.wait_for_timeout(500)
    taken = Image.open(io.BytesIO(page.screenshot(animations="disabled", timeout=120_000))).convert("RGB")
    context.close()
    return taken


def beside(pictures: Sequence[Image.Image]) -> Image.Image:
    """Phones side by side."""
    wide = sum(one.width for one in pictures) + GAP * (len(pictures) - 1)
    sheet = Image.new("RGB", (wide, max(one.height for one in pictures)), "white")
    left = 0
    for one in pictures:
        sheet.paste(one, (left, 0))
        left += one.width + GAP
    return sheet


def keep(taken: Image.Image, name: str) -> None:
    """Write a picture at the guide's width, and say how large it is."""
    taken = taken.resize((SHOWN, round(taken.height * SHOWN / taken.width)), Image.Resampling.LANCZOS)
    SCREENS.mkdir(exist_ok=True)
    path = SCREENS / f"{name}.jpg"
    taken.save(path, quality=QUALITY, optimize=True, progressive=True)
    print(f"{path.name:16} {taken.width} x {taken.height}  {path.stat().st_size:>8,}")


def main(site: Path) -> None:
    """The board on a desk, a prompt's pictures in the dark, three pages on a phone."""
    root = site.resolve().as_uri()
    prompt = sorted(one for one in (site / "prompts").glob("*.html") if one.stem != "index")[0].name
    entry = sorted((site / "generators").glob("*.html"))[0].name
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=executable(), args=FLAGS)
        keep(seen(browser, f"{root}/index.html", DESK, "light"), "board")
        keep(seen(browser, f"{root}/prompts/{prompt}", DESK, "dark", "#pictures"), "prompt")
        phone = [("index.html", "#board-rows"), (f"generators/{entry}", ""), ("arena.html", "figure")]
        keep(beside([seen(browser, f"{root}/{path}", PHONE, "light", at) for path, at in phone]), "phone")
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
