"""Rankings from one rater's comparisons: by hand, cycles, ties, missing pairs, and back through an import."""

from __future__ import annotations

import numpy as np
import pytest
from click.testing import CliRunner
from drawn_studies import Drawn, random_ranks

import salon
from salon.cli.study import export
from salon.errors import BadFile, DesignError
from salon.fuse import derive_rankings
from salon.store import import_files
from salon.study import Study


def voted(*votes: tuple[int, int, str], items: int = 4, rater: str = "r") -> Drawn:
    drawn = Drawn(1, items)
    for a, b, outcome in votes:
        drawn.vote(rater, 0, a, b, outcome)
    return drawn


def ranks(study: Study, **how: object) -> dict[str, int]:
    table = derive_rankings(study, **how).table  # type: ignore[arg-type]
    return dict(zip(table["item"].to_pylist(), table["rank"].to_pylist()))


CHAIN = ((0, 1, "a"), (1, 2, "a"), (2, 3, "a"))
CYCLE = ((0, 1, "a"), (1, 2, "a"), (0, 2, "b"), (0, 3, "a"), (1, 3, "a"), (2, 3, "a"))


def test_complete_comparisons_give_the_ranking_they_came_from():
    given = random_ranks(3, 4, 5, np.random.default_rng(0))
    made = derive_rankings(Drawn(3, 5).compare(given).study())
    assert made.rankings == 12
    assert made.counts == {}
    rows = made.table.to_pylist()
    assert all(
        row["rank"] == 1 + given[int(row["prompt"][1:]), int(row["rater"][1:]), int(row["item"][-1])] for row in rows
    )
    assert {(row["pairs"], row["missing_pairs"], row["cycles"]) for row in rows} == {(10, 0, 0)}


def test_a_cycle_is_counted_and_its_items_share_a_rank():
    made = derive_rankings(voted(*CYCLE).study())
    assert made.table["rank"].to_pylist() == [1, 1, 1, 4]
    assert made.table["cycles"].to_pylist() == [1] * 4
    assert made.counts == {"with a cycle": 1, "with equal strengths": 1}
    assert derive_rankings(voted(*CYCLE).study(), equal="leave-out").rankings == 0


def test_lots_make_rankings_strict_and_do_not_follow_the_order_of_items():
    drawn = Drawn(60, 3)
    for prompt in range(60):
        for a, b in ((0, 1), (1, 2), (0, 2)):
            drawn.vote("r", prompt, a, b, "tie")
    table = derive_rankings(drawn.study(), equal="drawn").table.to_pylist()
    first = [row["item"][-1] for row in table if row["rank"] == 1]
    assert sorted(row["rank"] for row in table) == [1] * 60 + [2] * 60 + [3] * 60
    assert all(8 <= first.count(item) <= 32 for item in "012")
    assert table == derive_rankings(drawn.study(), equal="drawn").table.to_pylist()


def test_ties_are_half_wins():
    assert ranks(voted((0, 1, "tie"), (0, 2, "a"), (1, 2, "tie"), items=3).study()) == {"q0.0": 1, "q0.1": 2, "q0.2": 3}


def test_a_chain_is_enough_and_islands_are_left_out():
    made = derive_rankings(voted(*CHAIN).study())
    assert made.table["item"].to_pylist() == ["q0.0", "q0.1", "q0.2", "q0.3"]
    assert made.table["missing_pairs"].to_pylist() == [3] * 4
    apart = derive_rankings(voted((0, 1, "a"), (2, 3, "a")).study())
    assert apart.rankings == 0
    assert apart.counts == {"left out: the pairs do not join the items": 1}


def test_both_bad_and_repeats_order_nothing():
    drawn = voted((0, 1, "a"), (1, 2, "a"), (0, 2, "both_bad"), items=3).vote("r", 0, 0, 1, "b", repeat=1)
    made = derive_rankings(drawn.study())
    assert made.table["item"].to_pylist() == ["q0.0", "q0.1", "q0.2"]
    assert made.table["missing_pairs"].to_pylist() == [1] * 3
    assert "1 'both bad' answers count as missing, 1 repeated" in made.policies[-1]


def test_rankings_alone_are_refused():
    with pytest.raises(DesignError, match="need comparisons"):
        derive_rankings(Drawn(1, 3).rank([[[0, 1, 2]]]).study())


def test_the_command_writes_a_table_that_imports_as_rankings(tmp_path):
    given = random_ranks(4, 3, 4, np.random.default_rng(2))
    salon.save_study(Drawn(4, 4).compare(given).study(), tmp_path / "study")
    file = tmp_path / "rankings.csv"
    arguments = [str(tmp_path / "study"), "--to", "rankings", "-o", str(file)]
    result = CliRunner().invoke(export, arguments, catch_exceptions=False)
    assert "12" in result.output
    assert "Cycles are kept" in result.output
    back = import_files("rankings", [file]).study
    assert back.counts["rankings"] == 12
    with pytest.raises(BadFile, match="only replaced when asked to"):
        CliRunner().invoke(export, arguments, catch_exceptions=False)
