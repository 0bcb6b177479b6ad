"""A designer in a real Chromium, from the invitation to the end: two rankings of four posters, ratings and flags.

With a mouse, with a reload and a second device in the middle of a ranking; on a phone; and by keyboard alone.
"""

from __future__ import annotations

import pytest
from browser import chromium, open_page
from rater_studio import close, draw_posters, open_studio, phase, served

__all__ = ["chromium"]

pytestmark = pytest.mark.browser

HOUSES = ("atelier", "carnival", "ledger", "apprentice")
SETTINGS = {
    "consent": {"text": "You may stop at any time."},
    "screener": [{"id": "job", "text": "Designer?", "options": ["No", "Yes"], "accept": ["Yes"]}],
    "guidelines": "Look at the whole first.",
    "times": {"guidelines": 0.1, "prompt": 600, "compare": 0.1, "rate": 0.1},
    "completion_code": "QUAY-1",
}
PHASES = (
    phase("order", "rank", "overall", "type"),
    phase("levels", "rate", "overall", "type", together=True, questions_each=1),
    phase("flags", "flag", "flaw", questions_each=2),
)
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture(scope="module")
def posters(tmp_path_factory):
    folder = tmp_path_factory.mktemp("journey") / "study"
    return folder, draw_posters(folder, prompts=1, houses=HOUSES)


@pytest.fixture
def served_studio(posters, tmp_path):
    studio = open_studio(*posters, tmp_path / "studio.db", *PHASES, **SETTINGS)
    with served(studio) as address:
        yield studio, address
    close(studio)


class Designer:
    """Somebody who likes the houses in the order of `HOUSES`, and works with a mouse, a finger or the keyboard."""

    def __init__(self, chromium, studio, address, **options):
        self.chromium, self.studio, self.address = chromium, studio, address
        self.invited = studio.invite("designers")[0]
        self.page = self.device(**options)

    def device(self, **options):
        """The link on one more device."""
        return open_page(self.chromium, f"{self.address}/enter/{self.invited.token}", **options)

    @property
    def problems(self):
        return [one for one in self.page.problems if not one.startswith(f"request: {self.address}")]

    def free(self):
        self.page.wait_for_selector("form[data-wait]:not(.held)")

    def press(self, words):
        with self.page.expect_navigation():
            self.page.get_by_role("button", name=words, exact=True).click()

    def choose(self, side):
        stacked = self.page.viewport_size["width"] < 640
        self.press(
            {"left": "Upper", "right": "Lower"}[side] + " is better" if stacked else f"{side.capitalize()} is better"
        )

    def level(self, *values):
        for value, group in zip(values, self.page.locator("[data-group]").all()):
            group.locator(f"[value='{value}']").check(force=True)

    # -- the way --------------------------------------------------------------------------------------------

    def come_in(self):
        self.press("I have read this and agree")
        self.page.get_by_label("Yes").check()
        self.press("Continue")
        self.free()
        self.press("I have read the guidelines")
        assert self.page.locator("img").count() == 0  # the prompt alone
        self.press("I'm ready")

    def pair(self):
        """Answer one pair of a ranking."""
        self.free()
        shown = self.studio.next(self.invited.rater).shown
        items = dict(zip(shown.code_names, shown.order))
        left, right = (self.likes(items[name]) for name in self.page.locator("figcaption").all_inner_texts())
        self.choose("left" if left < right else "right")

    @property
    def is_settled(self):
        return self.page.locator(".board").count() == 1

    def rank(self):
        while not self.is_settled:
            self.pair()
        self.free()
        self.press("Keep this order")

    def rate_and_flag(self):
        self.free()
        self.level("4", "2")
        self.press("Save and go on")
        for flag in ("0 No", "2 Major"):
            self.free()
            self.press(flag)

    def likes(self, item):
        return HOUSES.index(item.split("/")[1])

    def has_finished(self):
        assert self.page.locator("output").inner_text() == "QUAY-1"
        assert self.problems == []
        study = self.studio.database.read_study()
        orders = [(row["criterion"], [self.likes(item) for item in row["items"]]) for row in rows(study, "rankings")]
        assert orders == [("overall", [0, 1, 2, 3]), ("type", [0, 1, 2, 3])]
        assert [row["value"] for row in rows(study, "ratings")] == [4, 2, 0, 2]
        return True


class Keyboard(Designer):
    """The same without ever touching a mouse."""

    def press(self, words):
        with self.page.expect_navigation():
            self.tab_to("innerText", words)
            self.page.keyboard.press("Enter")

    def tab_to(self, what, wanted):
        for _ in range(40):
            if self.page.evaluate(f"document.activeElement.{what}") == wanted:
                return
            self.page.keyboard.press("Tab")
        raise AssertionError("the keyboard does not get there")

    def come_in(self):
        self.press("I have read this and agree")
        self.tab_to("value", "No")
        self.page.keyboard.press("ArrowDown")
        self.press("Continue")
        for _ in range(2):  # the guidelines, and the prompt
            self.free()
            self.key("Enter")

    def choose(self, side):
        self.key("ArrowLeft" if side == "left" else "ArrowRight")

    def key(self, key):
        with self.page.expect_navigation():
            self.page.keyboard.press(key)

    def level(self, *values):
        for value in values:
            self.page.keyboard.press(value)

    def rate_and_flag(self):
        self.free()
        self.level("4", "2")
        self.key("Enter")
        for flag in ("0", "2"):
            self.free()
            self.key(flag)


def rows(study, kind):
    return study.table(kind).to_pylist()


def test_with_a_mouse_a_reload_and_a_second_device(chromium, served_studio):
    designer = Designer(chromium, *served_studio)
    designer.come_in()
    designer.pair()
    designer.page.reload()
    assert "Question 2 of at most 5" in designer.page.inner_text("legend")
    designer.pair()
    desk = designer.page
    designer.page = designer.device(width=390)
    assert "Question 3 of at most 5" in designer.page.inner_text("legend")
    designer.pair()
    with desk.expect_navigation():  # the desk still shows the pair that the phone answered: it counts once
        desk.keyboard.press("ArrowLeft")
    assert desk.inner_text("legend") == designer.page.inner_text("legend")
    designer.page.context.close()
    designer.page = desk
    designer.rank()
    designer.rank()
    designer.rate_and_flag()
    assert designer.has_finished()
    desk.context.close()


def test_on_a_phone(chromium, served_studio):
    designer = Designer(chromium, *served_studio, width=390, has_touch=True, is_mobile=True)
    designer.come_in()
    for step in (designer.rank, designer.rank, designer.rate_and_flag):
        assert designer.page.evaluate(OVERFLOW) == 0
        step()
    assert designer.has_finished()
    designer.page.context.close()


def test_by_keyboard_alone(chromium, served_studio):
    designer = Keyboard(chromium, *served_studio)
    designer.come_in()
    designer.rank()
    designer.rank()
    designer.rate_and_flag()
    assert designer.has_finished()
    designer.page.context.close()


def test_stopping_on_a_strange_computer_leaves_nothing_behind(chromium, served_studio):
    designer = Designer(chromium, *served_studio)
    designer.come_in()
    designer.page.locator(".menu > summary").click()
    designer.press("Stop, and sign out here")
    assert "signed out on this device" in designer.page.inner_text("main")
    assert designer.page.context.cookies() == []
    designer.page.go_back()
    assert designer.page.locator("img").count() == 0  # the way back leads to the door
    assert "Question 1 of at most 5" in designer.device().inner_text("legend")
    designer.page.context.close()
