"""A person as an answerer, held against the others: by hand, by definition, by recovery, by property, at the edge."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from drawn_studies import Drawn, shared_ranks
from judge_report_example import both, judged, report

from salon.errors import BadValue, TooFew, UnknownReference
from salon.evaluate import EvaluateSettings, ReportSettings, choose_raters, evaluation_page, is_person
from salon.store import save_study
from salon.study import Comparison, Rater
from salon.train import evaluate_models

LEAN = ReportSettings(draws=100, deals=99, worst=0)
QUICK_MODELS = EvaluateSettings(draws=100)
BARE = EvaluateSettings(draws=100, ceiling=False)


def voted(*words, **more):
    """Prompts of two items; `words` has a letter for each rater: a, b, t for a tie, - for no answer."""
    drawn = Drawn(len(words), 2)
    for prompt, letters in enumerate(words):
        for rater, letter in enumerate(letters):
            if letter != "-":
                drawn.vote(f"r{rater}", prompt, 0, 1, {"t": "tie"}.get(letter, letter))
    return drawn.study(**more)


def evaluated(study, folder, raters="all", settings=BARE, **more):
    """What `salon evaluate` says about these people."""
    save_study(study, folder / "study")
    return evaluate_models((), [folder / "study"], settings, raters=raters, **more)


def by_name(made):
    return {judge.name: judge for judge in made.judges}


def accuracies(made):
    return {judge.name: (judge.pooled.accuracy.value, judge.pooled.pairs) for judge in made.judges}


def test_by_hand(tmp_path):
    """r0: right, wrong, others split (out), a tie .5. r1: right, out, out, right against one who ties and one who says
    a. r2: right, out, wrong, right. In q4 nobody else answered."""
    study = voted("aaa", "abb", "aab", "taa", "a--")
    expected = {"r0": (0.5, 3), "r1": (1.0, 2), "r2": (pytest.approx(2 / 3), 3)}
    assert accuracies(evaluated(study, tmp_path)) == expected
    made = report(study, raters="all")
    assert accuracies(made) == expected
    own = by_name(made)["r0"].criteria[0]
    assert (own.asked, own.decided, own.panel_pairs) == (5, 3, 3)
    assert {bucket.split: bucket.accuracy.value for bucket in own.buckets} == {"2-0": 0.5}
    assert {judge.kind for judge in made.judges} == {"person"}


def test_the_votes_of_others_by_definition(tmp_path):
    """Every kind of judgment, two criteria, gaps: the accuracy of each rater counted with dictionaries."""
    rng = np.random.default_rng(3)
    ranks = shared_ranks(12, 5, 4, 1.0, rng)
    drawn = Drawn(24, 4).compare(ranks, criterion="c").rank(shared_ranks(12, 5, 4, 2.0, rng), criterion="d", first=12)
    rows = [judgment for judgment in drawn.judgments["comparisons"] if rng.random() < 0.7]
    drawn.judgments["comparisons"] = rows
    study = drawn.study()
    said = {("c", row.a, row.b, row.rater): {"a": 1, "b": -1}[row.outcome] for row in rows}
    for row in drawn.judgments["rankings"]:
        for better, worse in combinations(row.items, 2):
            said["d", min(better, worse), max(better, worse), row.rater] = 1 if better < worse else -1
    scores = {}
    for (*pair, rater), answer in said.items():
        total = sum(value for (*where, name), value in said.items() if where == pair and name != rater)
        if total:
            scores.setdefault(rater, []).append(answer == np.sign(total))
    expected = {rater: (pytest.approx(np.mean(hits)), len(hits)) for rater, hits in scores.items()}
    assert accuracies(evaluated(study, tmp_path)) == expected
    assert accuracies(report(study, raters="all")) == expected


def test_ratings_are_held_against_ratings():
    """Of a person's ratings of a group every two are a vote, as they are of the panel."""
    values = np.random.default_rng(1).integers(1, 6, (10, 4, 3)).astype(float)
    made = report(Drawn(10, 3).rate(values).study(), raters="all")
    hits = []
    for panel in values:
        for a, b in combinations(range(3), 2):
            total = np.sign(panel[1:, a] - panel[1:, b]).sum()
            if total:
                mine = np.sign(panel[0, a] - panel[0, b])
                hits.append((mine * np.sign(total) + 1) / 2)
    assert accuracies(made)["r0"] == (pytest.approx(np.mean(hits)), len(hits))


def planted(prompts=40):
    """Six ordinary people, a careful one who sees the truth, a careless one, and one who takes what stands left."""
    rng = np.random.default_rng(8)
    noise = [1.0] * 6 + [0.05]
    drawn = Drawn(prompts, 4)
    for prompt, panel in enumerate(shared_ranks(prompts, 7, 4, noise, rng)):
        for i, j in combinations(range(4), 2):
            for rater, row in enumerate(panel):
                name = "careful" if rater == 6 else f"r{rater}"
                drawn.vote(name, prompt, i, j, "a" if row[i] < row[j] else "b", left=rng.choice(["a", "b"]))
            drawn.vote("careless", prompt, i, j, rng.choice(["a", "b"]), left=rng.choice(["a", "b"]))
            left = rng.choice(["a", "b"])
            drawn.vote("lefty", prompt, i, j, left, left=left)
    return drawn.study()


def test_planted_people_are_found(tmp_path):
    made = evaluated(planted(), tmp_path, settings=EvaluateSettings(draws=300))
    people, names = by_name(made), [judge.name for judge in made.judges]
    assert names[0] == "careful"
    assert set(names[-2:]) == {"careless", "lefty"}
    for name in ("careless", "lefty"):
        accuracy = people[name].pooled.accuracy
        assert accuracy.low < 0.5 < accuracy.high
        assert people[name].to_best.high < 0
        assert any(name in words and "coin" in words for words in made.warnings)
    assert {pair.first for pair in made.comparisons} == {"careful"}
    assert {pair.second: pair.p_holm < 0.05 for pair in made.comparisons}.items() >= {
        ("careless", True),
        ("lefty", True),
    }
    assert people["lefty"].says_first.value == 1
    assert "not shown to agree with the others more often than a coin would: lefty, careless" in made.warnings
    assert "the item shown first is named too often or too rarely: lefty (100%)" in made.warnings
    for name in (*(f"r{n}" for n in range(6)), "careful", "careless"):
        assert people[name].says_first.low < 0.5 < people[name].says_first.high
    assert all(people[f"r{n}"].tau.low > 0 for n in range(6))
    assert people["careful"].pooled.accuracy.low > people["careful"].pooled.ceilings.next_rater.value
    page = str(evaluation_page(made))
    assert "How reliable are these raters?" in page
    assert "Look at the answers of" in page


def test_an_ordinary_person_reaches_what_one_more_rater_would():
    """Seven people of one kind: the mean accuracy is the mean ceiling, and each interval meets its own ceiling's."""
    study = Drawn(150, 3).compare(shared_ranks(150, 7, 3, 1.0, np.random.default_rng(4))).study()
    people = [judge.pooled for judge in report(study, raters="all", settings=LEAN).judges]
    tops = [judge.ceilings.next_rater for judge in people]
    assert np.mean([judge.accuracy.value for judge in people]) == pytest.approx(
        np.mean([t.value for t in tops]), abs=0.02
    )
    for judge, top in zip(people, tops):
        assert top.low < judge.accuracy.high
        assert judge.accuracy.low < top.high


def test_ceilings_are_of_the_others_on_the_answered_pairs(tmp_path):
    """The same ceilings come from a study of the others alone, on these pairs."""
    study = planted(20)
    drawn = Drawn(20, 4)
    drawn.judgments["comparisons"] = [
        row for row in study.nouns("comparisons") if row.rater != "r0" or int(row.a[1:].split(".")[0]) < 10
    ]
    one = by_name(evaluated(drawn.study(), tmp_path / "some", ["r0"], EvaluateSettings(draws=100)))["r0"]
    others = Drawn(10, 4)
    others.judgments["comparisons"] = [
        row for row in study.nouns("comparisons") if row.rater != "r0" and int(row.a[1:].split(".")[0]) < 10
    ]
    rest = evaluated(others.study(), tmp_path / "rest", ["r1"], EvaluateSettings(draws=100)).panel[0].ceilings
    assert one.pooled.ceilings.next_rater_range == pytest.approx(rest.next_rater_range)
    assert one.pooled.ceilings.oracle_range == pytest.approx(rest.oracle_range)


def test_a_figure_does_not_depend_on_who_stands_beside(tmp_path):
    study = planted(12)
    judge = judged(study, [v for p in range(12) for v in both(f"q{p}.0", f"q{p}.1", "a", "a")], name="vlm")
    alone, beside = report(study, judge), report(study, judge, raters=["r1", "careful"])
    drop = {"to_best"}
    assert by_name(beside)["vlm"].model_dump(exclude=drop) == by_name(alone)["vlm"].model_dump(exclude=drop)
    assert beside.panel == alone.panel
    all_people = by_name(evaluated(study, tmp_path, settings=QUICK_MODELS))
    one = by_name(evaluated(study, tmp_path / "one", ["r1"], QUICK_MODELS))["r1"]
    assert one.model_dump(exclude=drop) == all_people["r1"].model_dump(exclude=drop)


def test_two_answerers_meet_the_people_who_are_neither():
    """A judge says a everywhere. Against r1 and r2 alone r0 is right on q0, wrong on q1, and so is the judge turned
    round; q2 has no majority without r0. So r0 less the judge is (1 - 1 + 0 - 0) / 2."""
    study = voted("aaa", "abb", "aab")
    judge = judged(study, [v for p in range(3) for v in both(f"q{p}.0", f"q{p}.1", "a", "a")], name="vlm")
    made = report(study, judge, raters=["r0"])
    assert by_name(made)["vlm"].pooled.accuracy.value == pytest.approx(2 / 3)  # against all three
    assert by_name(made)["r0"].to_best.value == 0
    assert any("neither of the two" in words for words in made.policies)


def test_repeated_questions_are_no_votes_but_self_agreement():
    """r0 says a, then b when asked again on q0, and the same twice on q1: samples agree on half of them."""
    study = voted("aaa", "aaa", "abb")
    drawn = Drawn(3, 2)
    again = [Comparison(criterion="c", rater="r0", a=f"q{p}.0", b=f"q{p}.1", outcome=word, repeat=1)
             for p, word in ((0, "b"), (1, "a"))]  # fmt: skip
    drawn.judgments["comparisons"] = [*study.nouns("comparisons"), *again]
    made = report(drawn.study(), raters=["r0", "r1"])
    assert accuracies(made)["r0"] == accuracies(report(study, raters=["r0", "r1"]))["r0"]
    assert (by_name(made)["r0"].self_agreement.value, by_name(made)["r0"].samples) == (0.5, 2)
    assert by_name(made)["r1"].self_agreement is None
    assert any(words.startswith("of a person the first answer") and words.endswith("r0") for words in made.policies)


def test_too_few_people_are_refused(tmp_path):
    with pytest.raises(TooFew, match="majority of the other people") as error:
        evaluated(voted("a", "b", "a"), tmp_path / "alone", ["r0"])
    assert "collect answers of more people" in error.value.remedy
    with pytest.raises(TooFew, match="a judge with an answer on a pair"):
        report(voted("a", "b", "a"), raters=["r0"])
    with pytest.raises(TooFew, match="two other people on a pair"):
        evaluated(voted("aa", "ab", "ba"), tmp_path / "two", settings=EvaluateSettings(draws=100))
    made = evaluated(voted("aa", "ab", "ba"), tmp_path / "bare")
    assert accuracies(made) == {"r0": (pytest.approx(1 / 3), 3), "r1": (pytest.approx(1 / 3), 3)}
    assert made.comparisons == ()  # nobody is left who is neither
    assert all(judge.to_best is None for judge in made.judges)


def test_only_single_people_are_named(tmp_path):
    study = voted("aaaa", "abba", raters=[Rater(id="r0"), Rater(id="r1"), Rater(id="r2", kind="crowd"),
                                          Rater(id="r3", kind="model")])  # fmt: skip
    assert is_person(study).tolist() == [True, True, True, False]
    for name in ("r2", "r3"):
        with pytest.raises(BadValue, match="one person is needed"):
            evaluated(study, tmp_path / name, [name])
    with pytest.raises(UnknownReference, match="a rater of the study"):
        evaluated(study, tmp_path / "nobody", ["ann"])
    assert set(accuracies(evaluated(study, tmp_path / "all"))) == {"r0", "r1"}


def test_of_many_people_the_most_active_are_taken():
    study = voted("a" * 45, "b" * 43 + "--", "a" * 41 + "----")
    raters, notes = choose_raters(study, "all")
    assert [study.label("raters", rater) for rater in raters] == [f"r{number}" for number in range(40)]
    assert notes == ["people with fewer answers than the first 40, not evaluated: 5"]
    assert choose_raters(study, ["r44", "r44"]) == ([44], [])


def test_copied_answers_are_suspect():
    """Two raters who never differ, where others answer at random, are above what independent people can reach."""
    rng = np.random.default_rng(2)
    words = ["".join(x) + x[-1] for x in rng.choice(["a", "b"], (1200, 4))]
    made = report(voted(*words), raters=["r0", "r4"], settings=LEAN)
    (suspects,) = (text for text in made.warnings if "under two names" in text)
    assert suspects.endswith(": r4 on c")
