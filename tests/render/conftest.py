"""A browser for the tests of this room that compare with one."""

from __future__ import annotations

from browser import chromium

__all__ = ["chromium"]
