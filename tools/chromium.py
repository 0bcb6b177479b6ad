"""Which Chromium opens pages for tests, benchmarks and the pictures of the docs, and how it is started."""

from __future__ import annotations

import os
import shutil

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
"""The first is the same engine without a window to hide: a third less time for the same pages."""
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
