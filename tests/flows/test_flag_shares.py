"""Which items count as flagged: any level but the best one, by people before models."""

from __future__ import annotations

from pathlib import Path

import pytest

from salon.errors import TooFew
from salon.select import GateSettings, gate_for_study
from salon.select.gate_run import flag_shares
from salon.store import save_study
from salon.study import Criterion, Item, Rater, Rating, Scale, Study


def flagged(scale: Scale, values: dict[str, tuple[float, ...]], kinds: tuple[str, ...]) -> dict[str, float]:
    """The share of raters who flagged each item; rater k gave the k-th value."""
    flag = Criterion(id="flag", scale=scale)
    tables = {
        "items": [Item(id=item) for item in values],
        "raters": [Rater(id=f"r{k}", kind=kind) for k, kind in enumerate(kinds)],
        "ratings": [Rating(item=item, rater=f"r{k}", criterion="flag", value=value)
                    for item, given in values.items() for k, value in enumerate(given)],
    }  # fmt: skip
    return flag_shares(Study.build("flags", [flag], tables=tables, compare_within="all"), flag)


def test_any_level_but_the_best_is_a_flag_whichever_end_is_best() -> None:
    down = Scale(kind="ordinal", low=0, high=2, step=1, higher_is_better=False)
    assert flagged(down, {"a": (0, 0), "b": (0, 1), "c": (2, 1)}, ("person",) * 2) == {"a": 0, "b": 0.5, "c": 1}
    up = Scale(kind="ordinal", low=1, high=5, step=1)
    assert flagged(up, {"a": (5, 5), "b": (5, 4), "c": (1, 2)}, ("person",) * 2) == {"a": 0, "b": 0.5, "c": 1}


def test_an_item_that_half_of_its_raters_flagged_is_flagged(tmp_path: Path) -> None:
    flag = Criterion(id="flag", scale=Scale(kind="ordinal", low=0, high=2, step=1, higher_is_better=False))
    items = [f"i{n:02}" for n in range(40)]
    tables = {
        "items": [Item(id=item) for item in items],
        "raters": [Rater(id="r0"), Rater(id="r1")],
        "ratings": [Rating(item=item, rater=rater, criterion="flag", value=float(rater == "r0" and n < 20))
                    for n, item in enumerate(items) for rater in ("r0", "r1")],
    }  # fmt: skip
    save_study(Study.build("flags", [flag], tables=tables, compare_within="all"), tmp_path / "study")
    table = tmp_path / "danger.csv"
    table.write_text("item,value\n" + "".join(f"{item},{n}\n" for n, item in enumerate(items)))
    for share, positives in ((0.5, 20), (0.51, 0)):
        settings = GateSettings(recall=0.5, confidence=0, share=share)
        if not positives:
            with pytest.raises(TooFew, match="0 positives among 40"):
                gate_for_study(tmp_path / "study", f"table:{table}", settings)
            continue
        made = gate_for_study(tmp_path / "study", f"table:{table}", settings)
        assert (made.positives, made.negatives, made.holds) == (20, 20, "below")  # a table's numbers: higher is better


@pytest.mark.parametrize(("kinds", "share"), [(("person", "model"), 1.0), (("model", "model"), 0.5)])
def test_models_flag_only_where_no_person_did(kinds: tuple[str, ...], share: float) -> None:
    down = Scale(kind="ordinal", low=0, high=2, step=1, higher_is_better=False)
    assert flagged(down, {"a": (1, 0)}, kinds) == {"a": share}
