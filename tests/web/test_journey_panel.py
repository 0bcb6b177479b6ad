"""A visitor from a panel in a real Chromium: from the panel's page to its completion page, for every outcome.

The panel is a small site of its own on this machine: a start page with the study's link, and a page that every code
leads to. MTurk's stand-in shows the entry page in a frame and takes the form that submits the assignment.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from browser import FINE, OVERFLOW, UNTOUCHABLE, axe_violations, chromium, wait_in
from rater_studio import close, draw_posters, open_studio, phase, served

from salon.collect import ShownTask, Studio

__all__ = ["chromium"]

pytestmark = pytest.mark.browser

SCREENER = [{"id": "age", "text": "How old are you?", "options": ["adult", "child"], "accept": ["adult"]}]
WIDTHS = ((1280, "light"), (390, "dark"))


class Panel:
    """A panel of our own: who arrived at its pages, and with what."""

    def __init__(self) -> None:
        self.arrivals: list[tuple[str, dict[str, str]]] = []
        self.study = ""
        panel = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.reply()

            def do_POST(self) -> None:
                self.reply(self.rfile.read(int(self.headers["Content-Length"])).decode())

            def reply(self, body: str = "") -> None:
                parts = urlsplit(self.path)
                fields = {
                    key: values[0] for key, values in parse_qs(parts.query or body, keep_blank_values=True).items()
                }
                if parts.path != "/favicon.ico" and parts.path not in ("/start", "/hit"):
                    panel.arrivals.append((parts.path, fields))
                inside = (
                    f'<a id="go" href="{panel.study}">Take part</a>' if parts.path == "/start" else "<p>Received</p>"
                )
                inside = (
                    f'<iframe src="{panel.study}" width="900" height="700"></iframe>'
                    if parts.path == "/hit"
                    else inside
                )
                page = f'<!doctype html><html lang="en"><title>Panel</title><body>{inside}</body></html>'.encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.end_headers()
                self.wfile.write(page)

            def log_message(self, *_: Any) -> None:
                return

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}"


@pytest.fixture
def panel() -> Iterator[Panel]:
    panel = Panel()
    thread = threading.Thread(target=panel.server.serve_forever, daemon=True)
    thread.start()
    yield panel
    panel.server.shutdown()
    panel.server.server_close()
    thread.join()


@pytest.fixture(scope="module")
def posters(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("panel") / "study"
    return folder, draw_posters(folder, prompts=1, houses=("atelier", "carnival", "ledger"))


@contextmanager
def opened(posters: Any, tmp_path: Any, panel: Panel, **more: Any) -> Iterator[tuple[Studio, str]]:
    """A studio whose every outcome has a code, and which sends visitors to the panel's completion page."""
    folder, study = posters
    back = f"{panel.address}/complete?cc={{code}}&who={{participant}}"
    ends = {
        outcome: {"code": f"C-{outcome}", "redirect": back}
        for outcome in ("done", "screened_out", "no_consent", "failed_checks", "over_quota", "timed_out")
    }
    settings = {
        "welcome": True,
        "consent": {"text": "Your answers are kept under a made-up name."},
        "screener": SCREENER,
        "panel": ends | {"missed_checks": 1} | more,
    }
    checks = {"checks": {"repeats": 0, "attention": 2}}
    studio = open_studio(folder, study, tmp_path / "studio.db", phase("main", "compare", **checks), **settings)
    try:
        with served(studio) as address:
            yield studio, address
    finally:
        close(studio)


class Visitor:
    """Somebody whom the panel sends."""

    def __init__(self, chromium: Any, panel: Panel, address: str, *, width: int, theme: str, pid: str) -> None:
        touch = {"has_touch": True, "is_mobile": True} if width < 640 else {}
        self.is_phone = width < 640
        context = chromium.new_context(
            viewport={"width": width, "height": 844}, color_scheme=theme, bypass_csp=False, **touch
        )
        self.page = context.new_page()
        self.pid = pid
        panel.study = f"{address}/panel?PROLIFIC_PID={pid}&STUDY_ID=65aa&SESSION_ID=65bb"
        self.page.goto(f"{panel.address}/start")
        self.press("#go")

    def press(self, what: str) -> None:
        with self.page.expect_navigation():
            (self.page.locator(what) if what.startswith("#") else self.page.get_by_role("button", name=what)).click()

    def agree(self) -> None:
        self.press("Begin")
        self.press("I have read this and agree")

    def answer_screener(self, age: str) -> None:
        self.page.get_by_label(age).check()
        self.press("Continue")

    def answer_all(self, studio: Studio, *, attention: str) -> None:
        visitor = studio.database.visitor_of(self.pid)
        assert visitor is not None
        while isinstance(step := studio.next(visitor.rater), ShownTask):
            wanted = step.shown.question.expected_item
            place = 0 if wanted is None else step.shown.place(wanted)
            place = 1 - place if wanted is not None and attention == "wrong" else place
            wait_in(self.page, "[...document.images].every(image => image.complete)")
            sides = ("Upper", "Lower") if self.is_phone else ("Left", "Right")
            self.press(f"{sides[place]} is better")

    def go_back(self) -> None:
        self.page.locator("main a.main").click()
        self.page.wait_for_url("**/complete**")
        assert "Received" in self.page.inner_text("body")

    def close(self) -> None:
        self.page.context.close()


def check_page(page: Any, *, phone: bool) -> None:
    """Nothing that axe, a finger or a narrow screen would stumble over. axe needs a page without our policy."""
    assert page.evaluate(OVERFLOW) == 0
    assert page.evaluate(FINE) == []
    assert not phone or page.evaluate(UNTOUCHABLE) == []


@pytest.mark.parametrize(("width", "theme"), WIDTHS)
@pytest.mark.parametrize("outcome", ["done", "screened_out", "no_consent", "failed_checks", "over_quota", "timed_out"])
def test_from_the_panel_and_back(
    chromium: Any, panel: Panel, posters: Any, tmp_path: Any, outcome: str, width: int, theme: str
) -> None:
    limits = {"over_quota": {"quotas": [{"places": 0}]}, "timed_out": {"minutes": 1}}.get(outcome, {})
    with opened(posters, tmp_path, panel, **limits) as (studio, address):
        visitor = Visitor(chromium, panel, address, width=width, theme=theme, pid=f"person{width}")
        page = visitor.page
        if outcome == "no_consent":
            visitor.press("Begin")
            check_page(page, phone=visitor.is_phone)
            visitor.press("I do not agree")
        elif outcome != "over_quota":
            visitor.agree()
            visitor.answer_screener("child" if outcome == "screened_out" else "adult")
        if outcome in ("done", "failed_checks"):
            visitor.answer_all(studio, attention="wrong" if outcome == "failed_checks" else "right")
        if outcome == "timed_out":
            found = studio.database.visitor_of(visitor.pid)
            assert found is not None
            studio.next(found.rater, now=found.joined_at + 60_000)
            page.reload()
        assert page.locator("output").inner_text() == f"C-{outcome}"
        check_page(page, phone=visitor.is_phone)
        assert panel.arrivals == []
        visitor.go_back()
        assert panel.arrivals == [("/complete", {"cc": f"C-{outcome}", "who": visitor.pid})]
        visitor.close()


def test_the_last_pages_are_accessible(chromium: Any, panel: Panel, posters: Any, tmp_path: Any) -> None:
    with opened(posters, tmp_path, panel, quotas=[{"places": 0}]) as (_, address):
        context = chromium.new_context(viewport={"width": 390, "height": 844}, bypass_csp=True)
        page = context.new_page()
        for query in ("PROLIFIC_PID=one", "PROLIFIC_PID={{%PROLIFIC_PID%}}", ""):
            page.goto(f"{address}/panel?{query}")
            assert [fault["id"] for fault in axe_violations(page)] == []
        context.close()


def test_who_is_sent_back_at_once_needs_no_click(chromium: Any, panel: Panel, posters: Any, tmp_path: Any) -> None:
    with opened(posters, tmp_path, panel, quotas=[{"places": 0}], at_once=True) as (_, address):
        context = chromium.new_context()
        page = context.new_page()
        page.goto(f"{address}/panel?PROLIFIC_PID=quick")
        page.wait_for_url("**/complete**")
        assert panel.arrivals == [("/complete", {"cc": "C-over_quota", "who": "quick"})]
        context.close()


def test_an_assignment_of_mturk_from_its_frame_to_its_submission(
    chromium: Any, panel: Panel, posters: Any, tmp_path: Any
) -> None:
    """The frame opens a tab; the worker answers there, comes back to the frame, and submits."""
    more = {"kind": "mturk", "submit_to": [panel.address], "done": {"code": "C-done"}}
    with opened(posters, tmp_path, panel, **more) as (studio, address):
        context = chromium.new_context(viewport={"width": 1280, "height": 900})
        page = context.new_page()
        panel.study = f"{address}/panel?workerId=W1&hitId=H1&assignmentId=B1&turkSubmitTo={panel.address}"
        page.goto(f"{panel.address}/hit")
        frame = page.frame_locator("iframe")
        with context.expect_page() as opened_tab:
            frame.get_by_role("link", name="Open the study").click()
        tab = opened_tab.value
        tab.get_by_role("button", name="Begin").wait_for()
        visitor = Visitor.__new__(Visitor)
        visitor.page, visitor.pid, visitor.is_phone = tab, "W1", False
        visitor.agree()
        visitor.answer_screener("adult")
        visitor.answer_all(studio, attention="right")
        assert tab.get_by_role("button", name="Submit").is_visible()
        frame.get_by_role("link", name="I have finished").click()
        frame.get_by_role("button", name="Submit").click()
        frame.get_by_text("Received").wait_for()
        sent = {"assignmentId": "B1", "outcome": "done", "code": "C-done"}
        assert panel.arrivals == [("/mturk/externalSubmit", sent)]
        context.close()
