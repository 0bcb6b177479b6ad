"""A browser for the tests that look at the check's page."""

from __future__ import annotations

from browser import chromium

__all__ = ["chromium"]
