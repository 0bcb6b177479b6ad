"""Five people in a real Chromium through a whole study made of a folder of pictures: three at desks, two on phones.

Everyone meets the welcome page once, some say "equally good", and what the database holds is what they pressed.
"""

from __future__ import annotations

import pytest
from browser import FINE, OVERFLOW, UNTOUCHABLE, axe_violations, chromium, open_page, wait_in
from PIL import Image, ImageDraw

from salon.collect import ShownTask, open_studio
from salon.generate import import_pictures, read_layout
from tools.posed_studio import served

__all__ = ["chromium"]

pytestmark = pytest.mark.browser

COLORS = {"flux": "#b5442a", "opal": "#2f6f8f", "reed": "#5c7d3a"}
PEOPLE = (
    {"width": 1280, "likes": ("flux", "opal", "reed"), "equal": None},
    {"width": 1280, "likes": ("opal", "flux", "reed"), "equal": {"flux", "reed"}},
    {"width": 1024, "likes": ("reed", "opal", "flux"), "equal": {"opal", "reed"}, "theme": "dark"},
    {"width": 390, "likes": ("flux", "reed", "opal"), "equal": {"flux", "reed"}},
    {"width": 390, "likes": ("opal", "reed", "flux"), "equal": None, "theme": "dark"},
)
BOXES = "[...document.querySelectorAll('.pictures.two img')].map(image => image.getBoundingClientRect().toJSON())"
SHOWN = "[...document.querySelectorAll('.pane')].filter(pane => pane.checkVisibility({ checkVisibilityCSS: true }))"
LOADED = "[...document.images].every(image => image.complete && image.naturalWidth > 0)"


@pytest.fixture
def studio(tmp_path):
    """A studio as `salon serve renders` opens it: two prompts, three generators, nothing said about how to ask."""
    for generator, color in COLORS.items():
        (tmp_path / "renders" / generator).mkdir(parents=True)
        for number, prompt in enumerate(("a harbour at dawn", "a paper lantern")):
            image = Image.new("RGB", (480, 360), color)
            ImageDraw.Draw(image).ellipse((60 + 90 * number, 60, 300, 300), fill="#f4efe6")
            image.save(tmp_path / "renders" / generator / f"{prompt}.png")
    import_pictures(read_layout(tmp_path / "renders"), tmp_path / "study")
    with open_studio(tmp_path / "study") as opened:
        yield opened


class Visitor:
    """Somebody who likes generators in an order, and finds two of them equal."""

    def __init__(self, chromium, studio, address, *, width, likes, equal, theme="light"):
        self.studio, self.likes, self.equal, self.address = studio, likes, equal, address
        self.is_phone = width < 640
        self.invited = studio.invite("raters")[0]
        self.link = f"{address}/enter/{self.invited.token}"
        touch = {"has_touch": True, "is_mobile": True} if self.is_phone else {}
        self.page = open_page(chromium, self.link, width=width, theme=theme, bypass_csp=True, **touch)
        self.pressed = []

    def press(self, words):
        with self.page.expect_navigation():
            self.page.get_by_role("button", name=words, exact=True).click()

    def check_page(self):
        assert [fault["id"] for fault in axe_violations(self.page)] == []
        assert self.page.evaluate(OVERFLOW) == 0
        assert self.page.evaluate(FINE) == []
        assert not self.is_phone or self.page.evaluate(UNTOUCHABLE) == []

    def come_in(self):
        """The welcome page says how much is asked, and comes once."""
        words = self.page.inner_text("main")
        task_count = self.studio.workload(self.invited.rater).questions
        assert self.page.locator(".facts dd").first.inner_text() == str(task_count)
        assert "about 1 min" in words or "about 2 min" in words
        assert self.studio.criteria["hps/overall"].title in words
        assert ("Tap a picture" in words) == self.is_phone
        self.check_page()
        self.page.goto(self.link)
        self.press("Begin")
        self.page.goto(self.link)
        assert self.page.get_by_role("button", name="Begin").count() == 0

    def answer_all(self):
        while isinstance(step := self.studio.next(self.invited.rater), ShownTask):
            if step.stage == "prompt":
                self.press("I'm ready")
            else:
                self.answer(step)

    def answer(self, step):
        page, criterion = self.page, self.studio.criteria["hps/overall"]
        wait_in(page, LOADED)
        legend = page.inner_text("legend")
        assert criterion.title.lower() in legend.lower()
        assert criterion.question in legend
        first, second = (dict(zip(step.shown.code_names, step.shown.order))[name] for name in self.names())
        if not self.pressed:
            self.look_closely()
        outcome, words = self.choose(*(self.studio.items[item].generator for item in (first, second)))
        self.pressed.append((first, second, outcome))
        if outcome == "tie" and not self.is_phone:
            with page.expect_navigation():
                page.keyboard.press("ArrowDown")
        else:
            self.press(words)

    def names(self):
        return self.page.locator("figcaption").all_inner_texts()

    def choose(self, first, second):
        if {first, second} == self.equal:
            return "tie", "Equally good"
        sides = ("Upper", "Lower") if self.is_phone else ("Left", "Right")
        place = 0 if self.likes.index(first) < self.likes.index(second) else 1
        return ("first", "second")[place], f"{sides[place]} is better"

    def look_closely(self):
        """Side by side at a desk; on a phone one below the other, each as wide as the screen, and flipped by a tap."""
        self.check_page()
        first, second = self.page.evaluate(BOXES)
        if not self.is_phone:
            assert first["right"] < second["left"]
            return
        assert first["bottom"] < second["top"]
        assert min(first["width"], second["width"]) > 350
        self.page.locator(".picture").nth(1).tap()
        places = []
        for _ in range(3):
            assert self.page.evaluate(f"{SHOWN}.length") == 1
            pressed = self.page.locator(".switch [aria-pressed=true]").inner_text()
            places.append((pressed, self.page.evaluate(f"{SHOWN}[0].querySelector('img').getBoundingClientRect().x")))
            self.page.locator(".pane.current").tap()
        self.check_page()
        upper, lower = self.names()
        assert [name for name, _ in places] == [lower, upper, lower]
        assert len({x for _, x in places}) == 1
        self.page.get_by_role("button", name="Close").tap()

    def finish(self):
        assert "That was all" in self.page.inner_text("main")
        self.check_page()
        strangers = [one for one in self.page.problems if not one.startswith(f"request: {self.address}")]
        assert strangers == []
        self.page.context.close()


def test_five_people_at_desks_and_on_phones(chromium, studio):
    with served(studio) as address:
        people = [Visitor(chromium, studio, address, **person) for person in PEOPLE]
        for person in people:
            person.come_in()
            person.answer_all()
            person.finish()
    saved = studio.database.read_study().table("comparisons").to_pylist()
    for person in people:
        rows = [row for row in saved if row["rater"] == person.invited.rater]
        assert [as_pressed(row) for row in rows] == person.pressed
        assert ("tie" in [outcome for *_, outcome in person.pressed]) == (person.equal is not None)
        assert len(rows) >= 6  # three pairs of each prompt


def as_pressed(row):
    """The item that stood first, the other, and what was said, as a saved comparison tells."""
    flipped = row["left"] == "b"
    pair = (row["b"], row["a"]) if flipped else (row["a"], row["b"])
    if row["outcome"] == "tie":
        return (*pair, "tie")
    return (*pair, "first" if (row["outcome"] == "a") != flipped else "second")
