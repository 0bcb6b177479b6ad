"""What every test may use, and CI's rule that nothing but real-data tests may skip."""

from __future__ import annotations

import gc
import os
import signal
from pathlib import Path

import hypothesis
import pytest

ROOT = Path(__file__).parent.parent
# As in the Makefile, for who calls pytest alone: threads of OpenMP do not survive a fork, and nothing is downloaded.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Begun in the background by a shell: Ctrl-C would mean nothing to the processes that tests start and interrupt.
    signal.signal(signal.SIGINT, signal.default_int_handler)
# How long a machine takes proves nothing. Everybody draws the same examples, so that a test fails for who changed
# something and not for whoever comes next; `--hypothesis-profile fresh` draws others.
UNTIMED = {"deadline": None, "suppress_health_check": [hypothesis.HealthCheck.too_slow]}
hypothesis.settings.register_profile("same", derandomize=True, database=None, **UNTIMED)
hypothesis.settings.register_profile("fresh", derandomize=False, **UNTIMED)
hypothesis.settings.load_profile("same")


@pytest.fixture(scope="session")
def salon_data() -> Path:
    """The folder of real human judgments: SALON_DATA, or a sibling shared/data when there is one."""
    folder = Path(os.environ.get("SALON_DATA") or ROOT.parent / "shared" / "data")
    if not folder.is_dir():
        pytest.skip("real judgments not found: set SALON_DATA to their folder")
    return folder


@pytest.fixture(scope="session")
def salon_peers(salon_data: Path) -> Path:
    """The folder of numbers that peers' own code computed: `peers` beside the folder of real judgments."""
    folder = salon_data.parent / "peers"
    if not folder.is_dir():
        pytest.skip(f"reference numbers of peers not found: needed a folder {folder}")
    return folder


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests never read or write the user's cache."""
    monkeypatch.setenv("SALON_CACHE", str(tmp_path_factory.getbasetemp() / "salon-cache"))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]):
    """With CI=true a skip is a failure, except for tests marked `data`."""
    outcome = yield
    report = outcome.get_result()
    if report.skipped and os.environ.get("CI") == "true" and "data" not in item.keywords:
        if hasattr(report, "wasxfail"):
            return
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"skipped in CI, where only tests marked 'data' may skip: {reason}"


LONG = (
    "tests/test_readme.py",
    "tests/web/",
    "tests/train/",
    "tests/bench/",
    "tests/flows/",
    "tests/cli/",
    "tests/test_docs.py",
)
"""What takes long, begun first in this order, so that no process works on it alone at the end. The README and the pages
of the docs compile the same loops, and so begin apart.
"""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--fast", action="store_true", help="leave out the files named in tests/long_tests.txt")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--fast"):
        long = set((ROOT / "tests/long_tests.txt").read_text(encoding="utf-8").split())
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid.split("::")[0] in long])
        items[:] = [item for item in items if item.nodeid.split("::")[0] not in long]
    items.sort(key=lambda item: next((n for n, part in enumerate(LONG) if item.nodeid.startswith(part)), len(LONG)))


def pytest_collection_finish() -> None:
    """What has been imported and collected stays to the end: looking for garbage in it took long."""
    gc.collect()
    gc.freeze()
