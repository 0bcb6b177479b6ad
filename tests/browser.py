"""A Chromium for tests that look at pages. Import the fixture in a conftest: `from browser import chromium`.

Without a Chromium such tests skip and say how to install one; under CI a skip is a failure (see conftest).
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

INSTALL = "apt-get install -y chromium"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


def executable() -> str | None:
    """The browser named by SALON_CHROMIUM, else the first found on the path."""
    named = os.environ.get("SALON_CHROMIUM")
    return named or next((found for name in NAMES if (found := shutil.which(name))), None)


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
        browser = driver.chromium.launch(executable_path=path, args=FLAGS)
        _running.append(browser)
        yield browser
        _running.clear()
        browser.close()


def open_page(browser: Any, address: str, *, width: int = 1280, theme: str = "light", **options: Any) -> Any:
    """A page in a context of its own; `page.problems` gathers console errors, exceptions, dialogs, requests."""
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=theme, **options)
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
