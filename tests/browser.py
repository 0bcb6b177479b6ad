"""A Chromium for tests that look at pages. Import the fixture in a conftest: `from browser import chromium`.

Without a Chromium such tests skip and say how to install one; under CI a skip is a failure (see conftest).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from waiting import LONGEST, until

from tools.chromium import FLAGS, executable

INSTALL = "apt-get install -y chromium-headless-shell (or chromium)"

_running: list[Any] = []
"""The browser while it runs: each conftest that imports the fixture has its own copy of it, and two drivers clash."""


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """A running browser (a playwright Browser), started once for all tests, however many conftests import this."""
    if _running:
        yield _running[0]
        return
    path = executable()
    if path is None:
        pytest.skip(f"no Chromium found: {INSTALL}")
    playwright = pytest.importorskip("playwright.sync_api", reason="pip install 'salon[dev]'")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=FLAGS, timeout=1000 * LONGEST)
        _running.append(browser)
        yield browser
        _running.clear()
        browser.close()


def open_page(browser: Any, address: str, *, width: int = 1280, theme: str = "light", **options: Any) -> Any:
    """A page in a context of its own; `page.problems` gathers console errors, exceptions, dialogs, requests."""
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=theme, **options)
    context.set_default_timeout(1000 * LONGEST)
    page = context.new_page()
    page.problems = []
    page.on("console", lambda m: page.problems.append(m.text) if m.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: page.problems.append(str(error)))
    page.on("dialog", lambda dialog: (page.problems.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    page.on("request", lambda r: page.problems.append(f"request: {r.url}") if _outside(r.url, address) else None)
    page.goto(address)
    return page


def _outside(url: str, address: str) -> bool:
    """Any request but for the page itself and its embedded data."""
    return not url.startswith((address.split("#")[0], "data:"))


def wait_in(page: Any, expression: str) -> None:
    """Come back when an expression is true in the page. Playwright's own `wait_for_function` evaluates text inside the
    page from its second look on, which our pages' policy forbids: it fails whenever the first look comes too early.
    """
    until(lambda: page.evaluate(expression), f"{expression} in {page.url}")


OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
"""Pixels that can be scrolled sideways."""
OVERLAPS = """() => [...document.querySelectorAll("svg.chart")].flatMap(svg => {
  const frame = svg.getBoundingClientRect();
  const words = [...svg.querySelectorAll("text")].map(t => [t.textContent, t.getBoundingClientRect()]);
  const shown = words.filter(([w, box]) => w.trim() && box.width);
  const clash = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1
    && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3;
  const pairs = shown.flatMap(([v, a], i) => shown.slice(i + 1).filter(([, b]) => clash(a, b)).map(([w]) => [v, w]));
  return [...pairs, ...shown.filter(([, b]) => b.left < frame.left - 3 || b.right > frame.right + 3).map(([w]) => [w])];
})"""
"""Labels of charts that touch each other or leave their drawing."""
FINE = """() => [...document.querySelectorAll("body *")].filter(one => {
  const drawn = one.closest("svg")?.viewBox?.baseVal?.width, box = one.getBoundingClientRect();
  const scale = drawn ? one.closest("svg").getBoundingClientRect().width / drawn : 1;
  return box.width > 1 && [...one.childNodes].some(node => node.nodeType === 3 && node.data.trim())
    && one.checkVisibility() && parseFloat(getComputedStyle(one).fontSize) * scale < 11.9;
}).map(one => one.textContent.trim().slice(0, 40))"""
"""Words smaller than 12 pixels."""
UNTOUCHABLE = """() => [...document.querySelectorAll("a, button, summary, select, textarea, input")].filter(one => {
  const touched = one.matches("[type=radio], [type=checkbox]") && one.closest("label") || one;
  const box = touched.getBoundingClientRect(), inline = getComputedStyle(one).display === "inline" ||
  one.matches(".term");
  return one.checkVisibility() && box.width > 1 && box.height < 44 && !one.matches(".skip")
    && !(inline && one.closest("p, li, figcaption, small"));
}).map(one => one.outerHTML.slice(0, 90))"""
"""What a finger would miss: lower than 44 pixels, and no link or explained term in a sentence."""
OPEN_ALL = "document.querySelectorAll('details').forEach(part => { part.open = true; })"
SEEN = ((1280, "light"), (390, "dark"))


def page_faults(browser: Any, html: str, folder: Path) -> list[tuple[object, ...]]:
    """What is wrong with a page at a desk and, dark, on a phone: axe's findings, labels of charts, fine print, what a
    finger would miss, sideways scrolling, tags shown as words, console errors.
    """
    file = folder / "seen.html"
    file.write_text(html, encoding="utf-8")
    page = open_page(browser, file.as_uri(), bypass_csp=True)  # only axe needs the page's policy set aside
    found: list[tuple[object, ...]] = []
    for width, theme in SEEN:
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        page.evaluate(OPEN_ALL)
        found += [(width, one["id"], one["nodes"][0]["html"][:160]) for one in axe_violations(page)]
        found += [(width, "labels", *words) for words in page.evaluate(OVERLAPS)]
        found += [(width, "fine print", words) for words in page.evaluate(FINE)]
        found += [(width, "too low", tag) for tag in page.evaluate(UNTOUCHABLE) if width < 400]
        found += [(width, "scrolls sideways")] if page.evaluate(OVERFLOW) > 0 else []
    found += [("a tag shown as words",)] if "<data" in page.inner_text("body") else []
    found += [("console", words) for words in page.problems]
    found += [("ran a script of others",)] if page.evaluate("window.pwned") is not None else []
    page.context.close()
    return found


LOOKS = """() => {
  const ways = new Map([[null, ""]]), alike = new Map();
  const way = one => {
    if (!ways.has(one)) {
      const style = getComputedStyle(one), look = ["color", "backgroundColor", "backgroundImage", "opacity", "fontSize",
        "fontWeight", "position", "textShadow", "filter"].map(name => style[name]);
      ways.set(one, [way(one.parentElement), one.tagName, one.className, one.disabled, ...look].join("|"));
    }
    return ways.get(one);
  };
  for (const one of document.querySelectorAll("[data-look]")) one.removeAttribute("data-look");
  for (const one of document.querySelectorAll("body, body *")) {
    const words = [...one.childNodes].filter(node => node.nodeType === 3).map(node => node.data.trim()).join("");
    if (!words && !one.matches("input, select, textarea")) continue;
    const look = way(one) + (words.length > 1);
    if (!alike.has(look)) alike.set(look, []);
    alike.get(look).push(one);
  }
  for (const group of alike.values())
    for (const one of [group[0], group.at(-1)]) one.setAttribute("data-look", "");
}"""
"""Marks two of all words that look alike: their own colours and sizes, and those of everything they stand in."""
AXE = """async options => {
  axe.configure({ rules: [{ id: "color-contrast", selector: "[data-look]" }] });
  return (await axe.run({ preload: false, resultTypes: ["violations"], ...options })).violations;
}"""


def axe_violations(page: Any, **options: Any) -> list[dict[str, Any]]:
    """What axe finds in a page as it stands. Contrast takes axe milliseconds a word: it is measured for every way that
    words look, and not again in each row of a table.
    """
    if not page.evaluate("'axe' in window"):
        page.evaluate(_axe())
    page.evaluate(LOOKS)
    return page.evaluate(AXE, options)


@cache
def _axe() -> str:
    return (resources.files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
