"""Every screen under axe-core, in light and dark, at a desk and on a phone: nothing serious, nothing critical."""

from __future__ import annotations

import pytest
from browser import FINE, UNTOUCHABLE, axe_violations, chromium, open_page
from rater_studio import close, draw_posters, open_studio, phase, served

from salon.collect import RawAnswer
from salon.web.app import create_app
from salon.web.settings import WebSettings

__all__ = ["chromium"]

pytestmark = pytest.mark.browser

TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
SERIOUS = ("serious", "critical")
SCREENS = [
    phase("a", "compare", "flaw", ties=True, both_bad=True),
    phase("b", "compare", "overall", "type", together=True, rationale="optional"),
    phase("c", "rank", "overall"),
    phase("d", "rank", "type", ranking="drag"),
    phase("e", "rate", "overall", "type", together=True, questions_each=1),
    phase("f", "flag", "flaw", questions_each=1),
    phase("g", "choose", "overall"),
    phase("h", "checklist", "flaw", points=["Everything can be read"], questions_each=1),
    phase("i", "regions", "type", questions_each=1),
    phase("j", "text", "overall", questions_each=1),
    phase("k", "choose", "type", rest_hours=1),
]
ENTRY = {
    "consent": {"text": "You may **stop** at any time."},
    "screener": [{"id": "job", "text": "Designer?", "options": ["No", "Yes"], "accept": ["Yes"]}],
    "profile": ["Years"],
    "guidelines": "# Look\n\n- closely",
    "times": {"guidelines": 0, "prompt": 600, "compare": 0, "rate": 0},
    "break_minutes": 1e-6,
    "completion_code": "QUAY-1",
}


@pytest.fixture(scope="module")
def studio(tmp_path_factory):
    folder = tmp_path_factory.mktemp("accessible") / "study"
    opened = open_studio(folder, draw_posters(folder, prompts=1), folder.parent / "studio.db", *SCREENS, **ENTRY)
    yield opened
    close(opened)


@pytest.fixture(scope="module")
def address(studio):
    with served(studio) as address:
        yield address


class Inspector:
    """A page that is looked at by axe; only axe needs the policy of the pages set aside."""

    def __init__(self, chromium, address, token):
        self.page = open_page(chromium, f"{address}/enter/{token}", bypass_csp=True)
        self.address, self.seen, self.found = address, [], []

    def look(self, name, path=None):
        if path is not None:
            self.page.goto(f"{self.address}{path}")
        self.seen.append(name)
        assert self.page.locator("h1").count() >= 1, name  # Markdown of the owner may add its own
        for width, theme in ((1280, "light"), (390, "dark")):
            self.page.set_viewport_size({"width": width, "height": 900})
            self.page.emulate_media(color_scheme=theme, reduced_motion="reduce")  # colors at rest
            for broken in axe_violations(self.page, runOnly=TAGS):
                if broken["impact"] in SERIOUS:
                    nodes = [node["html"][:120] for node in broken["nodes"][:3]]
                    self.found.append((name, theme, broken["id"], nodes))
            self.found += [(name, "fine print", words) for words in self.page.evaluate(FINE)]
        self.found += [(name, "too low", tag) for tag in self.page.evaluate(UNTOUCHABLE)]

    def press(self, words):
        with self.page.expect_navigation():
            self.page.get_by_role("button", name=words, exact=True).click()


def test_every_screen_of_a_rater(chromium, studio, address):
    invited = studio.invite("designers")[0]
    seen = Inspector(chromium, address, invited.token)
    seen.look("consent")
    seen.press("I have read this and agree")
    seen.look("screener")
    seen.page.get_by_label("Yes").check()
    seen.press("Continue")
    seen.look("profile")
    seen.press("Continue")
    seen.look("guidelines")
    seen.press("I have read the guidelines")
    seen.look("prompt")
    seen.press("I'm ready")
    for screen in SCREENS[:-1]:
        task = studio.next(invited.rater)
        assert task.phase.id == screen["id"]
        seen.look(screen["protocol"], "/")
        if screen["id"] == "a":
            seen.page.keyboard.press("z")
            seen.look("zoom")
            seen.page.keyboard.press("Escape")
            seen.page.locator(".menu > summary").click()
            seen.look("menu")
        if screen["id"] == "c":
            studio.answer_pair(invited.rater, task.id, (), "first")
            seen.look("order", "/")
        studio.submit(invited.rater, task.id, RawAnswer(skipped="cannot judge"), key=f"key-{screen['id']}")
    seen.look("rest", "/")
    seen.look("withdraw", "/withdraw")
    seen.press("Withdraw")
    seen.look("withdrawn")
    seen.look("door", "/")
    assert seen.found == []
    seen.page.context.close()


def test_every_screen_of_the_owner_and_the_adjudicator(chromium, studio, address):
    for role, pages in pages_by_role(studio).items():
        seen = Inspector(chromium, address, studio.database.new_link(role))
        for path in pages:
            seen.look(path, path)
        assert seen.found == []
        seen.page.context.close()


def pages_by_role(studio):
    """Pages without parameters, by whom they are for."""
    routes = create_app(studio, WebSettings(folder=studio.folder)).routes
    paths = sorted(route.path for route in routes if "GET" in getattr(route, "methods", ()) and "{" not in route.path)
    roles = {"owner": "/owner", "adjudicator": "/adjudicate"}
    pages = [path for path in paths if path != "/owner/export"]  # a download
    return {role: [path for path in pages if path.startswith(prefix)] for role, prefix in roles.items()}
