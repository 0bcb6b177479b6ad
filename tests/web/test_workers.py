"""Workers of one studio on one socket: whoever dies, every acknowledged answer is there once, and the design is kept.

Twenty kills of workers and three of the database under 200 raters: `python -m benchmarks workers`.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

import pytest
from click.testing import CliRunner
from postgres import fresh_url
from waiting import until

from benchmarks._load_study import make_study
from benchmarks.workers import run
from salon.cli.main import salon
from salon.collect import change_settings, current_settings_text, open_studio, set_toml_values
from salon.store import LostConnection, listen_for_news, open_database
from salon.web.app import create_app
from salon.web.errors import TooMany
from salon.web.limits import SharedLimits
from salon.web.settings import WebSettings
from salon.web.workers import following


def test_several_workers_need_postgresql(tmp_path: Path) -> None:
    make_study(tmp_path / "study")
    found = CliRunner().invoke(salon, ["serve", str(tmp_path / "study"), "--workers", "2"])
    assert found.exit_code != 0
    assert "several workers need PostgreSQL" in (str(found.exception) + found.output)
    assert not (tmp_path / "study" / "studio.db").exists()


def test_killed_workers_and_a_killed_database_lose_nothing(tmp_path: Path) -> None:
    found = run(tmp_path / "study", workers=2, raters=8, kills=1, crashes=1, seed=3)
    assert found.acknowledged >= 30
    assert found.once == found.acknowledged
    assert (found.lost, found.twice, found.wrong, found.half) == (0, 0, 0, 0), asdict(found)
    assert found.spread <= 1
    assert found.tallies_differ == 0


def test_settings_and_figures_of_one_worker_reach_the_others(tmp_path: Path) -> None:
    make_study(tmp_path / "study")
    url = fresh_url("postgresql", tmp_path)
    with open_studio(tmp_path / "study", url) as first, open_studio(tmp_path / "study", url, create=False) as second:
        app = create_app(second, WebSettings(folder=tmp_path / "study"))
        with following(app):
            changed = change_settings(first, set_toml_values(current_settings_text(first), {"break_minutes": 7.0}))
            until(lambda: app.state.studio.settings.break_minutes == 7, "the new settings")
            figures = changed.live_check(wait=True).figures
            until(lambda: app.state.studio.live_check().figures is not None, "the figures")
            assert app.state.studio.live_check().figures == figures  # not computed again
        app.state.studio.close()


def test_a_limit_is_one_for_all_workers(tmp_path: Path) -> None:
    url = fresh_url("postgresql", tmp_path)
    with open_database(url) as first, open_database(url) as second:
        buckets = [
            SharedLimits(database, b"secret").make_buckets("session", 0.001, 100) for database in (first, second)
        ]

        def take(number: int) -> int:
            for count in range(1000):
                try:
                    buckets[number % 2].take("zoe")
                except TooMany:
                    return count
            return 1000

        with ThreadPoolExecutor(4) as pool:
            assert sum(pool.map(take, range(4))) == 100
        buckets[0].take("ann")  # somebody else's are full
        buckets[0].give_back("zoe")
        buckets[1].take("zoe")
        with pytest.raises(TooMany):
            buckets[1].take("zoe")
        with first.reading() as connection:
            names = connection.exec_driver_sql("SELECT name FROM rate_limits").scalars().all()
        assert not any("zoe" in name for name in names)


def test_one_worker_at_a_time_is_alone_and_a_dead_one_leaves(tmp_path: Path) -> None:
    url = fresh_url("postgresql", tmp_path)
    entered: list[str] = []

    def enter(name: str) -> None:
        with open_database(url) as database, database.alone("figures"):
            entered.append(name)

    with open_database(url) as first, ThreadPoolExecutor(1) as pool:
        with first.alone("figures"), first.alone("something else"):
            waiting = pool.submit(enter, "second")
            with first.reading() as connection:
                query = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
                until(lambda: connection.exec_driver_sql(query).scalar(), "somebody who waits")
            assert entered == []
        waiting.result()
    assert entered == ["second"]


def test_a_lost_connection_is_named_and_the_next_one_works(tmp_path: Path) -> None:
    url = fresh_url("postgresql", tmp_path)
    heard: list[str] = []
    with open_database(url) as database, open_database(url) as other, listen_for_news(database, heard.append):
        until(lambda: heard == [""], "the first look")
        with pytest.raises(LostConnection), database.reading() as connection:  # noqa: PT012 - it is the block that ends
            with other.reading() as another:
                another.exec_driver_sql(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
                )
            connection.exec_driver_sql("SELECT 1")
        database.share("figures", "{}")
        until(lambda: heard.count("") == 2, "a second look, after the news were cut off")
        database.share("figures", "{}")
        until(lambda: heard[-1] == "figures", "news again")
