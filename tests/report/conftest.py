"""One example document and page for all tests of this room, and a browser to open it with."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import report_example as example
from browser import chromium

__all__ = ["chromium"]


@pytest.fixture(scope="session")
def document() -> dict[str, Any]:
    return example.study(np.random.default_rng(7))


@pytest.fixture(scope="session")
def html(document: dict[str, Any]) -> str:
    return example.report(document).html()


@pytest.fixture(scope="session")
def hostile_html() -> str:
    document = example.study(np.random.default_rng(7), example.HOSTILE)
    document["criteria"] = {f"{example.HOSTILE[0]}{name}": c for name, c in document["criteria"].items()}
    return example.report(document).html()
