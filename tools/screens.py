"""Photograph every screen of a studio for docs/guide/collect.md: `python -m tools.screens [SCENE ...]`.

The studio is the one the guide describes, its criteria and studio.toml read from there; the posters are drawn, the
answers are made up, the pages are what a browser shows.
"""

from __future__ import annotations

import io
import re
import shutil
import sys
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from salon.collect import ShownTask, Studio, StudioSettings
from salon.collect.studio.setup import record_design
from salon.generate import read_prompts
from salon.store import open_database
from salon.study import Criterion, Study
from tools.chromium import FLAGS, executable
from tools.posed_studio import MadeUpRater, draw_study, served

GUIDE = Path(__file__).parent.parent / "docs" / "guide" / "collect.md"
SCREENS = GUIDE.parent / "screens"
BRIEFS = ("posters-night-market", "posters-warehouse-rave", "posters-dark-matter", "posters-beekeepers")
WORTH = {"atelier": 0.95, "ledger": 0.65, "carnival": 0.4, "apprentice": 0.1}
"""The houses, and how much the made-up raters like them."""
SIZE = "724x1024"
DESK, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}
TIMES = {"guidelines": 1, "prompt": 20, "compare": 0, "rate": 0}
QUALITY, MARGIN, TALLEST = 64, 60, 1500
HOUR = 3_600_000
DAY = 24 * HOUR
DRAWN = (
    "Promise.all([...document.images].filter(one => one.loading !== 'lazy').map(one => one.decode().catch(() => 0)))"
)


def main() -> None:
    SCREENS.mkdir(exist_ok=True)
    with TemporaryDirectory() as place, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=executable(), args=FLAGS)
        with _posed(Path(place) / "posters") as studio, served(studio) as address:
            camera = Camera(browser, studio, address)
            for scene in (designer, panel, editors, phones, doors, owner, adjudicator):
                if scene.__name__ in (sys.argv[1:] or scene.__name__):
                    scene(camera)
        browser.close()
    sizes = [path.stat().st_size for path in SCREENS.glob("*.jpg")]
    print(f"{len(sizes)} screens, {sum(sizes):,} bytes, the largest {max(sizes):,}")


# -- the studio of the guide -----------------------------------------------------------------------------------------


def guide_criteria() -> list[Criterion]:
    """The criteria that the guide adds to study.toml."""
    return [Criterion.parse(record) for record in tomllib.loads(_block("[[criteria]]"))["criteria"]]


def guide_settings(**changed: Any) -> StudioSettings:
    """The studio.toml of the guide."""
    return StudioSettings.model_validate(tomllib.loads(_block("[[cohorts]]")) | changed)


def _block(holding: str) -> str:
    blocks = re.findall(r"^```toml\n(.*?)^```$", GUIDE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return next(block for block in blocks if holding in block)


def guide_study(folder: Path, size: str = SIZE) -> Study:
    """The study of the guide, drawn."""
    briefs = [prompt for prompt in read_prompts("briefs:posters") if prompt.id in BRIEFS]
    return draw_study(folder, "Posters of the season", briefs, list(WORTH), guide_criteria(), size)


@contextmanager
def _posed(folder: Path) -> Iterator[Studio]:
    """The studio of the guide with half a dozen raters who were here already."""
    study = guide_study(folder)
    (folder / "references").mkdir()
    for name, house in (("weak", "apprentice"), ("strong", "atelier")):
        drawn = next(item for item in study.nouns("items") if item.id == f"{BRIEFS[-1]}/{house}/0")  # gold: set aside
        shutil.copy(folder / drawn.image, folder / "references" / f"{name}.png")
    (folder / "studio.toml").write_text(_block("[[cohorts]]"), encoding="utf-8")
    settings = guide_settings(times=TIMES)
    with open_database(f"sqlite:///{folder / 'studio.db'}", create=True) as database:
        database.put_study(study)
        record_design(database, settings)
        database.put_settings(_block("[[cohorts]]"))
        studio = Studio(database, settings, folder)
        _fill(studio)
        yield studio
        studio.close()


def _fill(studio: Studio) -> None:
    now = int(time.time() * 1000)
    for cohort, number, noise in (("designers", 4, 0.2), ("panel", 2, 0.35), ("editors", 1, 0.2)):
        for k, invited in enumerate(studio.invite(cohort, number, now=now - 4 * DAY)):
            rater = _made_up(studio, invited.rater, now - 4 * DAY + k * HOUR)
            rater.noise = noise
            rater.come_in()
            rater.work(until="levels" if cohort == "designers" and k == 3 else None)
            rater.now = max(rater.now, now - DAY + k * HOUR)
            rater.work(14 if k == 3 else 10_000)
    studio.invite("designers", 1)


def _made_up(studio: Studio, rater: str, now: int) -> MadeUpRater:
    worth = {item.id: WORTH[item.generator or ""] for item in studio.items.values()}
    number = sum(map(ord, rater))
    return MadeUpRater(studio, rater, worth, now, np.random.default_rng(number))


# -- the camera ------------------------------------------------------------------------------------------------------


@dataclass
class Camera:
    """A browser before the studio."""

    browser: Browser
    studio: Studio
    address: str

    def visit(self, token: str, *, phone: bool = False, theme: Any = "light") -> Page:
        """A page on a link."""
        size = PHONE if phone else DESK
        context = self.browser.new_context(viewport=size, color_scheme=theme, has_touch=phone, is_mobile=phone)  # type: ignore[arg-type]
        page = context.new_page()
        page.goto(f"{self.address}/enter/{token}")
        return page

    def take(self, page: Page, name: str, *, whole: bool = False) -> None:
        """Keep what a page shows as docs/guide/screens/NAME.jpg."""
        keep(picture(page, whole=whole), name)

    def newcomer(self, cohort: str, *, at: int = 0, entered: bool = True) -> tuple[MadeUpRater, str]:
        """A new rater and their token; `at` milliseconds before now."""
        invited = self.studio.invite(cohort)[0]
        rater = _made_up(self.studio, invited.rater, int(time.time() * 1000) - at)
        rater.noise, rater.pace = 0.05, 0.0
        if entered:
            rater.come_in()
        return rater, invited.token


def picture(page: Page, *, whole: bool = False) -> Image.Image:
    """The page as it looks when its pictures are there and nothing moves any more."""
    page.wait_for_load_state("networkidle")
    page.evaluate(DRAWN)
    data = page.screenshot(full_page=whole, animations="disabled", caret="hide")
    return Image.open(io.BytesIO(data)).convert("RGB")


def keep(image: Image.Image, name: str) -> None:
    """Write a screen at three quarters of its size without the empty paper below, and say how large it is."""
    pixels = np.asarray(image.convert("L")).astype(int)
    used = np.flatnonzero((np.abs(pixels - pixels[-1, 0]) > 8).any(axis=1))
    image = image.crop((0, 0, image.width, min(image.height, int(used.max()) + MARGIN, TALLEST)))
    image = image.resize((image.width * 3 // 4, image.height * 3 // 4), Image.Resampling.LANCZOS)
    path = SCREENS / f"{name}.jpg"
    image.save(path, quality=QUALITY, optimize=True, progressive=True)
    print(f"{path.name:28} {image.width} x {image.height}  {path.stat().st_size:>8,}")


# -- scenes ----------------------------------------------------------------------------------------------------------


def designer(camera: Camera) -> None:
    """From the link to the end: entry, qualification, ranking, ratings, flags."""
    rater, token = camera.newcomer("designers", entered=False)
    page = camera.visit(token)
    camera.take(page, "welcome")
    _press(page, "Begin")
    camera.take(page, "consent")
    _press(page, "I have read this and agree")
    page.get_by_label("Yes, full time").check()
    camera.take(page, "screener")
    _press(page, "Continue")
    page.get_by_label("Years of practice").fill("11")
    camera.take(page, "profile")
    _press(page, "Continue")
    camera.take(page, "guidelines")
    page.wait_for_selector("form[data-wait]:not(.held)")
    _press(page, "I have read the guidelines")
    _press(page, "I'm ready")
    camera.take(page, "qualification")
    rater.now = int(time.time() * 1000)
    rater.work(until="order")
    page.goto(camera.address)
    camera.take(page, "prompt")
    _press(page, "I'm ready")
    camera.take(page, "rank-pair")
    while page.locator(".board").count() == 0:
        _key(page, "ArrowLeft")
    camera.take(page, "rank-order")
    rater.work(until="levels")
    _go_on(page, camera)
    camera.take(page, "rate")
    page.locator(".rubric summary").first.click()
    page.wait_for_timeout(1000)  # the reference pictures come when the panel opens
    camera.take(page, "rubric")
    _until(rater, lambda task: task.shown.question.why == "attention")
    _go_on(page, camera)
    camera.take(page, "attention")
    rater.work(until="flags")
    _go_on(page, camera)
    camera.take(page, "flag")
    page.context.close()
    _end(camera)


def _end(camera: Camera) -> None:
    rater, token = camera.newcomer("designers", at=3 * HOUR)
    rater.pace = 2.0
    rater.work()
    page = camera.visit(token)
    camera.take(page, "end")
    page.context.close()


def panel(camera: Camera) -> None:
    """Choosing, resting, comparing; zoom, a lost connection, a break, leaving."""
    rater, token = camera.newcomer("panel", at=2 * DAY + HOUR)
    rater.work(until="first-look")
    page = camera.visit(token)
    _go_on(page, camera)
    camera.take(page, "choose")
    rater.work()
    rater.now = int(time.time() * 1000)
    page.goto(camera.address)
    _go_on(page, camera)
    camera.take(page, "compare")
    page.keyboard.press("z")
    camera.take(page, "zoom")
    page.keyboard.press("Escape")
    page.emulate_media(color_scheme="dark")
    camera.take(page, "compare-dark")
    page.emulate_media(color_scheme="light")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowDown")
    page.context.set_offline(True)
    page.keyboard.press("Enter")
    page.wait_for_selector(".unsaved")
    image = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    keep(image, "offline")
    page.context.set_offline(False)
    page.wait_for_selector("form.answering:not(.unsaved)")
    page.goto(f"{camera.address}/withdraw")
    camera.take(page, "withdraw")
    page.goto(camera.address)
    page.locator(".menu summary").first.click()
    page.get_by_text("Stop, and sign out here").click()
    camera.take(page, "left")
    page.context.close()
    _rest_and_break(camera)


def _rest_and_break(camera: Camera) -> None:
    rater, token = camera.newcomer("panel", at=50 * 60_000)
    rater.work(until="first-look")
    while int(time.time() * 1000) - rater.now > 4 * 60_000:
        rater.now += 4 * 60_000
        camera.studio.next(rater.rater, now=rater.now)
    page = camera.visit(token)
    _go_on(page, camera)
    camera.take(page, "break")
    rater.now = int(time.time() * 1000)
    rater.work()
    page.goto(camera.address)
    camera.take(page, "rest")
    page.context.close()


def editors(camera: Camera) -> None:
    """A checklist, a grid, free text."""
    rater, token = camera.newcomer("editors")
    page = camera.visit(token)
    for phase, name in (("points", "checklist"), ("space", "regions"), ("words", "text")):
        rater.work(until=phase)
        page.goto(camera.address)
        _go_on(page, camera)
        if name == "regions":
            page.locator(".cell").nth(4).click()
            page.locator(".cell").nth(5).click()
        camera.take(page, name)
    page.context.close()


def phones(camera: Camera) -> None:
    """Five screens of a phone side by side."""
    rater, token = camera.newcomer("panel", at=2 * DAY + HOUR)
    page = camera.visit(token, phone=True)
    rater.work(until="first-look")
    page.goto(camera.address)
    shots = [picture(page)]
    rater.work()
    rater.now = int(time.time() * 1000)
    page.goto(camera.address)
    _go_on(page, camera)
    shots.append(picture(page))
    page.context.close()
    rater, token = camera.newcomer("designers")
    page = camera.visit(token, phone=True)
    for phase in ("order", "levels", "flags"):
        rater.work(until=phase)
        page.goto(camera.address)
        _go_on(page, camera)
        shots.append(picture(page))
    page.context.close()
    gap = 24
    sheet = Image.new("RGB", (len(shots) * (PHONE["width"] + gap) - gap, PHONE["height"]), "#b9b2a4")
    for k, shot in enumerate(shots):
        sheet.paste(shot.crop((0, 0, PHONE["width"], PHONE["height"])), (k * (PHONE["width"] + gap), 0))
    keep(sheet.resize((sheet.width * 4 // 5, sheet.height * 4 // 5), Image.Resampling.LANCZOS), "phone")


def doors(camera: Camera) -> None:
    """A link that is not valid, and the owner's password."""
    page = camera.visit("not-a-link")
    camera.take(page, "error")
    page.goto(f"{camera.address}/login")
    camera.take(page, "login")
    page.context.close()


def owner(camera: Camera) -> None:
    """The owner's pages."""
    camera.studio.live_check(wait=True)
    page = camera.visit(camera.studio.database.new_link("owner"))
    for name in ("", "raters", "gallery", "settings", "data", "audit"):
        page.goto(f"{camera.address}/owner/{name}".rstrip("/"))
        camera.take(page, f"owner-{name or 'overview'}", whole=name == "")
    page.context.close()


def adjudicator(camera: Camera) -> None:
    """The questions on which raters are split."""
    camera.studio.live_check(wait=True)
    page = camera.visit(camera.studio.database.new_link("adjudicator"))
    camera.take(page, "adjudicate")
    page.context.close()


def _press(page: Page, words: str) -> None:
    with page.expect_navigation():
        page.get_by_role("button", name=words).click()


def _key(page: Page, key: str) -> None:
    with page.expect_navigation():
        page.keyboard.press(key)


def _go_on(page: Page, camera: Camera) -> None:
    """Past the prompt, where it comes first."""
    page.goto(camera.address)
    if page.locator(".prompting").count():
        _press(page, "I'm ready")


def _until(rater: MadeUpRater, found: Any) -> None:
    """Answer until a task is as wanted."""
    while True:
        task = rater.studio.next(rater.rater, now=rater.now)
        if not isinstance(task, ShownTask) or found(task):
            return
        rater.work(1)


if __name__ == "__main__":
    main()
