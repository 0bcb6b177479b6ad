"""Photograph the eight stages of a demo for the README: `python -m tools.demo_strip DEMO`.

DEMO is the folder that `make demo` wrote. Its pages are shown as they are; the studio is a copy of the demo's, opened
for one more rater; the page of the model is what `salon train heads` and `salon evaluate` say of the demo's posters.
"""

from __future__ import annotations

import io
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image, ImageDraw, ImageFont
from playwright.sync_api import Browser, Page, sync_playwright

from salon.cli.main import run
from salon.collect import open_studio
from salon.render.typeset.fonts import load_font
from salon.report.page import LIGHT
from tools.chromium import FLAGS, executable
from tools.posed_studio import served
from tools.screens import DRAWN

TARGET = Path(__file__).parent.parent / "docs" / "demo.jpg"
SEEN = {"width": 760, "height": 500}
"""What is photographed of a page: few words, in a size that stays legible."""
ACROSS, COLUMNS, GAP, HEAD, QUALITY = 468, 4, 28, 58, 84
MODEL = ("--encoder", "effnet-lite2+look", "--form", "scalar")
PARTS = ("--train", "0.6", "--validation", "0.15", "--test", "0.25")
"""More prompts for the test than by default: of 24, two would say nothing."""


@dataclass(frozen=True)
class Shot:
    """A stage, the page it is shown by, and the element that stands at the top."""

    stage: str
    address: str
    at: str = ""
    above: int = 14
    """Pixels of page that are kept above the element."""


def main(demo: Path) -> None:
    with TemporaryDirectory() as place, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=executable(), args=FLAGS)
        model = _evaluated(demo, Path(place))
        pictures = {shot.stage: _picture(browser, shot) for shot in _shots(demo, model)}
        pictures["collect"] = _studio(browser, demo, Path(place))
        browser.close()
    _write([(stage, pictures[stage]) for stage in STAGES])


STAGES = ("generate", "collect", "check", "fuse", "train", "judge", "bench", "select")


def _shots(demo: Path, model: Path) -> Iterator[Shot]:
    root = demo.resolve()
    yield Shot("generate", f"{(root / 'gallery.html').as_uri()}", ".row:nth-of-type(4)")
    yield Shot("check", (root / "check.html").as_uri(), ".answer figure")
    yield Shot("fuse", (root / "fuse.html").as_uri(), ".answer figure")
    yield Shot("train", model.resolve().as_uri(), ".answer")
    yield Shot("judge", (root / "judges.html").as_uri(), "#bias-and-perception .body")
    yield Shot("bench", (root / "board-site" / "index.html").as_uri(), "#board-rows")
    yield Shot("select", (root / "best" / "best" / "index.html").as_uri(), ".film")


def _evaluated(demo: Path, place: Path) -> Path:
    """What a model of the demo's designers is worth, on prompts that it did not see."""
    posters, model, page = str(demo / "posters"), str(place / "model"), place / "evaluate.html"
    for line in (
        ["train", "heads", posters, "-o", model, *MODEL, *PARTS],
        ["evaluate", model, posters, "--html", str(page)],
    ):
        try:
            run(line)
        except SystemExit as end:
            if end.code:
                raise
    return page


def _studio(browser: Browser, demo: Path, place: Path) -> Image.Image:
    """The first question that a new rater is asked."""
    shutil.copytree(demo / "studio", place / "studio")
    with open_studio(place / "studio") as studio:
        token = studio.invite(studio.settings.cohorts[0].id)[0].token
        with served(studio) as address:
            page = browser.new_context(viewport=SEEN).new_page()
            page.goto(f"{address}/enter/{token}")
            while page.locator("form.answering").count() == 0:
                page.locator("button.main:visible").first.click()
                page.wait_for_load_state("networkidle")
            return _taken(page)


def _picture(browser: Browser, shot: Shot) -> Image.Image:
    page = browser.new_context(viewport=SEEN).new_page()
    page.goto(shot.address)
    page.evaluate("document.querySelectorAll('img').forEach(one => { one.loading = 'eager'; })")
    if shot.at:
        top = page.locator(shot.at).first.evaluate("one => one.getBoundingClientRect().top + scrollY")
        page.evaluate("to => scrollTo({ top: to, behavior: 'instant' })", top - shot.above)
    page.wait_for_timeout(500)
    return _taken(page)


def _taken(page: Page) -> Image.Image:
    page.evaluate(DRAWN)
    data = page.screenshot(animations="disabled", caret="hide")
    page.context.close()
    return Image.open(io.BytesIO(data)).convert("RGB")


def _write(pictures: list[tuple[str, Image.Image]]) -> None:
    """Frames in rows, each under its number and name."""
    down = round(ACROSS * SEEN["height"] / SEEN["width"])
    rows = -(-len(pictures) // COLUMNS)
    size = (COLUMNS * (ACROSS + GAP) + GAP, rows * (down + HEAD) + GAP)
    sheet = Image.new("RGB", size, LIGHT["null-wash"])
    draw = ImageDraw.Draw(sheet)
    font = ImageFont.truetype(str(load_font("Inter:400").file), 30)
    for number, (stage, picture) in enumerate(pictures):
        x, y = GAP + (number % COLUMNS) * (ACROSS + GAP), (number // COLUMNS) * (down + HEAD)
        draw.text((x, y + 14), f"{number + 1}", LIGHT["accent"], font)
        draw.text((x + 30, y + 14), stage, LIGHT["ink"], font)
        sheet.paste(picture.resize((ACROSS, down), Image.Resampling.LANCZOS), (x, y + HEAD))
    sheet.save(TARGET, quality=QUALITY, optimize=True, progressive=True)
    print(f"wrote {TARGET.name}, {sheet.width} x {sheet.height}, {TARGET.stat().st_size:,} bytes")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
