"""Null laws at hand: shipped, cached, computed; and never a damaged one."""

import gzip
import json
from fractions import Fraction
from pathlib import Path

import pytest

from salon.errors import TooFew
from salon.stats import exact_null
from salon.store import null_for, nulls
from salon.store.nulls import cache_folder, decode_null, encode_null, shipped_null
from tools.make_nulls import MOST_RATERS, shapes

ROOT = Path(__file__).parents[2]
TABLES = ROOT / "src" / "salon" / "store" / "null_tables"
RATES = json.loads((ROOT / "tests" / "golden" / "nulls" / "cycle_rates.json").read_text())


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("SALON_CACHE", str(tmp_path))
    return tmp_path / "nulls"


@pytest.fixture
def forbid_computing(monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("computed although it was at hand")

    monkeypatch.setattr(nulls, "exact_null", refuse)
    monkeypatch.setattr(nulls, "monte_carlo_null", refuse)


def test_every_listed_table_ships_and_no_other():
    listed = {nulls.table_name(*shape) for shape in shapes()}
    assert {file.name for file in TABLES.iterdir()} == listed
    assert sum(file.stat().st_size for file in TABLES.iterdir()) < 300_000


def shipped(shape: tuple[int, int]) -> bytes:
    """What a table holds; its packing differs by one byte from one version of Python to another."""
    return gzip.decompress((TABLES / nulls.table_name(*shape)).read_bytes())


@pytest.mark.parametrize("shape", [(2, 9), (3, 3), (3, 15), (4, 5), (4, 10), (5, 5), (5, 7), (6, 5), (7, 3), (8, 3)])
def test_shipped_tables_are_what_is_computed(shape):
    assert shipped(shape) == gzip.decompress(encode_null(exact_null(*shape)))


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(4, 15), (5, 9), (6, 6), (7, 4)])
def test_large_shipped_tables_are_what_is_computed(shape):
    assert shipped(shape) == gzip.decompress(encode_null(exact_null(*shape)))


@pytest.mark.parametrize("shape", RATES)
def test_golden_rates_of_shipped_tables(shape):
    assert shipped_null(*map(int, shape.split(","))).cycle_rate == Fraction(RATES[shape])


@pytest.mark.usefixtures("forbid_computing")
def test_shipped_shapes_are_not_computed(folder):
    assert null_for(4, 5).cycle_rate == Fraction(3875, 18432)
    assert not folder.exists()


def test_not_shipped():
    assert shipped_null(3, MOST_RATERS[3] + 1) is None


def test_computed_shapes_are_kept(folder, monkeypatch):
    first = null_for(3, 16)
    assert [file.name for file in folder.iterdir()] == ["3_16_exact.json.gz"]
    monkeypatch.setattr(nulls, "exact_null", None)
    assert null_for(3, 16).joint == first.joint == exact_null(3, 16).joint


def test_afresh_reads_and_writes_nothing(folder, monkeypatch):
    monkeypatch.setattr(nulls, "shipped_null", None)
    assert null_for(4, 5, cache=False).joint == exact_null(4, 5).joint
    assert not folder.exists()


@pytest.mark.parametrize("damage", [b"", b"\x1f\x8b", b"not gzip", "cut", "other", "mass"])
def test_damaged_files_are_computed_again(folder, damage):
    good = encode_null(exact_null(3, 16))
    content = json.loads(gzip.decompress(good))
    content["joint"][0][2] = "7"
    data = {
        "cut": good[: len(good) // 2],
        "other": encode_null(exact_null(3, 17)),
        "mass": gzip.compress(json.dumps(content).encode()),
    }.get(damage, damage)
    folder.mkdir()
    (folder / "3_16_exact.json.gz").write_bytes(data)
    assert null_for(3, 16).joint == exact_null(3, 16).joint
    assert decode_null((folder / "3_16_exact.json.gz").read_bytes()).joint == exact_null(3, 16).joint


def test_monte_carlo_beyond_reach(folder):
    null = null_for(9, 3, draws=300, seed=1)
    assert (null.method, null.draws) == ("monte carlo", 300)
    assert null.cycle_rate_error > 0
    assert null_for(9, 3, draws=300, seed=1).joint == null.joint
    assert null_for(9, 3, draws=300, seed=2).joint != null.joint
    assert sorted(file.name for file in folder.iterdir()) == [
        "9_3_draws_300_seed_1.json.gz",
        "9_3_draws_300_seed_2.json.gz",
    ]


def test_the_limit_decides(monkeypatch):
    assert null_for(4, 6, cache=False, limit=0.0, draws=100).method == "monte carlo"
    assert null_for(4, 6, cache=False, limit=10.0).method == "exact"


def test_a_folder_that_cannot_be_written(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("SALON_CACHE", str(tmp_path / "file"))
    assert null_for(3, 16).exact


def test_the_default_folder(monkeypatch):
    monkeypatch.delenv("SALON_CACHE")
    assert cache_folder().parts[-2:] == ("salon", "nulls")


@pytest.mark.parametrize("shape", [(4, 1), (1, 4)])
def test_too_few(shape):
    with pytest.raises(TooFew):
        null_for(*shape)
