"""What is fused together: groups of items or generators, answers left out and counted."""

import numpy as np
import pytest
from drawn_studies import Drawn

from salon.errors import DesignError
from salon.fuse import FuseSettings, study_groups
from salon.study import Criterion, Item, Scale


def groups(study, **settings):
    return list(study_groups(study, FuseSettings(**settings), ()))


def test_items_are_fused_within_their_prompt():
    drawn = Drawn(2, [3, 2]).compare([[[0, 1, 2]]]).vote("r0", 1, 0, 1, "tie")
    first, second = groups(drawn.study())
    assert (first.label, first.members) == ("q0", ("q0.0", "q0.1", "q0.2"))
    assert (second.label, second.members, second.compared.outcome.tolist()) == ("q1", ("q1.0", "q1.1"), [2])
    assert first.counts().tolist() == [2, 2, 2]


def test_both_bad_is_counted_and_is_a_tie_only_when_asked():
    study = Drawn(1, 2).vote("r0", 0, 0, 1, "both_bad").vote("r1", 0, 0, 1, "a").study()
    (left_out,) = groups(study)
    assert (left_out.both_bad, left_out.compared.outcome.tolist()) == (1, [0])
    (tied,) = groups(study, both_bad="tie")
    assert (tied.both_bad, sorted(tied.compared.outcome.tolist())) == (1, [0, 2])


def test_repeats_are_left_out_and_counted():
    drawn = Drawn(1, 2).vote("r0", 0, 0, 1, "a").vote("r0", 0, 0, 1, "b", repeat=1)
    (group,) = groups(drawn.study())
    assert (group.repeats, len(group.compared)) == (1, 1)


def test_a_scale_where_lower_is_better_is_turned():
    scale = Scale(low=0, high=2, step=1, higher_is_better=False)
    study = Drawn(1, 3).rate([[[0, 1, 2]]]).study(Criterion(id="c", scale=scale))
    assert groups(study)[0].rated.value.tolist() == [2, 1, 0]


def made_by(generators):
    """One prompt for each row of generators; item q.k was made by the k-th of the row."""
    return [
        Item(id=f"q{q}.{k}", prompt=f"q{q}", generator=name, category=f"k{q % 2}")
        for q, row in enumerate(generators)
        for k, name in enumerate(row)
    ]


def test_generators_are_fused_over_prompts_and_never_with_themselves():
    drawn = Drawn(2, 2).vote("r0", 0, 0, 1, "a").vote("r0", 1, 0, 1, "a")
    study = drawn.study(tables={"items": made_by([["x", "y"], ["x", "x"]])})
    (group,) = groups(study, by="generator")
    assert (group.members, len(group.compared), group.same) == (("x", "y"), 1, 1)
    by_category = groups(study, by="generator", split="category")
    assert [g.label for g in by_category] == ["k0"]


def test_a_ranking_that_holds_a_generator_twice_is_left_out():
    drawn = Drawn(2, 3).rank([[[0, 1, 2]], [[2, 0, 1]]])
    study = drawn.study(tables={"items": made_by([["x", "y", "x"], ["x", "y", "z"]])})
    (group,) = groups(study, by="generator")
    assert (len(group.ranked), group.same) == (1, 1)
    assert [group.members[i] for i in group.ranked.items] == ["y", "z", "x"]


def test_generators_must_be_named():
    with pytest.raises(DesignError, match="name their generator"):
        groups(Drawn(1, 2).vote("r0", 0, 0, 1, "a").study(), by="generator")


def test_fewer_items_keep_the_judgments_among_them():
    drawn = Drawn(1, 3).compare([[[0, 1, 2]]]).rate([[[1, 2, 3]]]).rank([[[0, 1, 2]]])
    (group,) = groups(drawn.study(Criterion(id="c", scale=Scale(low=1, high=5))))
    part = group.among(np.array([True, False, True]))
    assert part.members == ("q0.0", "q0.2")
    assert (part.compared.a.tolist(), part.compared.b.tolist()) == ([0], [1])
    assert part.rated.item.tolist() == [0, 1]
    assert len(part.ranked) == 0
