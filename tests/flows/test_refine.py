"""The loop by hand: who draws what from which prompt, what is kept, and what waits."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from refine_example import PROMPTS, Lightness, Painter, critic, gray, loop, revised

from salon.errors import BadFile, BadValue
from salon.generate import GenerateSettings, generate_items, house_generator, read_prompts
from salon.judge import Conversation, NoReply, ScriptedVlm
from salon.judge.measuring_judge import layout_diagnosis
from salon.judge.simulation import ScriptAnswer
from salon.select import RefineSettings, refine_study
from salon.select.refine import RefineCard, open_refinement, prompts_hash, read_replies
from salon.select.refine_scores import LoopScores, RefineReport
from salon.store import open_study
from salon.study import Ask, Prompt


def lights(report: RefineReport, prompt: int = 0) -> list[float | None]:
    """Gray of every round of a prompt, then of every control."""
    chain = report.chains[prompt]
    return [step.shots[0].scores.get("lightness") for step in (*chain.steps, *chain.control)]


# -- what is drawn -----------------------------------------------------------------------------------------------------


def test_each_round_is_drawn_from_what_was_seen_in_the_one_before(tmp_path: Path) -> None:
    painter = Painter()
    report = loop(tmp_path / "loop", painter, rounds=2)
    drawn = [one for one in painter.asked if one[0] == "p0"]
    assert drawn == [
        ("p0", 0, "poster 0"), ("p0", 1, "poster 0!"), ("p0", 2, "poster 0!!"),  # rounds
        ("p0", 1, "poster 0"), ("p0", 2, "poster 0"),  # the original again, from the same seeds
    ]  # fmt: skip
    assert lights(report) == [40, 61, 82, 41, 42]
    assert report.is_complete
    assert report.replies == {"revised": 8}
    assert report.chains[0].steps[0].remarks[0].finding == "too dark"


def test_the_folder_is_a_study_of_the_original_prompts(tmp_path: Path) -> None:
    loop(tmp_path / "loop", rounds=1)
    study = open_study(tmp_path / "loop")
    assert list(study.nouns("prompts")) == PROMPTS
    generators = Counter(item.generator for item in study.nouns("items"))
    assert generators == {"painter-round-0": 4, "painter-round-1": 4, "painter-control-1": 4}


def test_the_critic_is_shown_the_picture_and_the_original_and_nothing_else(tmp_path: Path) -> None:
    heard: list[Conversation] = []

    def says(asked: Conversation) -> ScriptAnswer:
        heard.append(asked)
        return critic(asked)

    loop(tmp_path / "loop", says=says, rounds=2)
    second = [asked for asked in heard if "round-1" in asked.sights[0].item]
    assert len(second) == 4
    texts = {part for asked in heard for part in asked.parts if isinstance(part, str)}
    assert {f'"{prompt.text}"' for prompt in PROMPTS} < texts
    assert not any("!" in text for text in texts if text.startswith('"poster'))


def test_with_both_it_is_shown_the_prompt_the_picture_was_drawn_from(tmp_path: Path) -> None:
    heard: list[Conversation] = []

    def says(asked: Conversation) -> ScriptAnswer:
        heard.append(asked)
        return critic(asked)

    loop(tmp_path / "loop", says=says, rounds=2, sees="both")
    assert sum('"poster 0!"' in asked.parts for asked in heard) == 1


def test_without_a_control_only_the_rounds_are_drawn(tmp_path: Path) -> None:
    painter = Painter()
    report = loop(tmp_path / "loop", painter, rounds=1, control=False)
    assert len(painter.asked) == 8
    assert {one.second for one in report.scores[0].differences} == {"round 0"}


def test_of_several_pictures_the_best_is_looked_at(tmp_path: Path) -> None:
    report = loop(tmp_path / "loop", rounds=1, images=3)
    chain = report.chains[0]
    assert [shot.seed for step in chain.steps for shot in step.shots] == [0, 1, 2, 3, 4, 5]
    assert chain.steps[0].seen == "p0/painter-round-0/2"  # the lightest of three
    assert chain.best == "p0/painter-round-1/5"


def test_more_rounds_go_on_and_draw_only_what_is_new(tmp_path: Path) -> None:
    painter = Painter()
    loop(tmp_path / "loop", painter, rounds=1)
    before = len(painter.asked)
    report = loop(tmp_path / "loop", painter, rounds=2)
    assert len(painter.asked) - before == 8
    assert lights(report) == [40, 61, 82, 41, 42]


# -- what cannot be read, what is refused, what fails ------------------------------------------------------------------

BAD = {
    "unread": ("I would rather not.", "no answer"),
    "empty": ("", "empty"),
    "huge": ("word " * 25_000, "no answer"),
    "filtered": (NoReply(kind="refused", reason="content policy"), "refused"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_read_keeps_the_former_prompt_and_is_counted(tmp_path: Path, case: str) -> None:
    said, reason = BAD[case]

    def says(asked: Conversation) -> ScriptAnswer:
        return said if asked.sights[0].item == "p1/painter-round-1/1" else critic(asked)

    report = loop(tmp_path / "loop", says=says, rounds=3)
    assert report.unread == {reason: 1}
    assert report.is_complete
    steps = report.chains[1].steps
    assert [step.prompt.text for step in steps if step.prompt] == [
        "poster 1", "poster 1!", "poster 1!", "poster 1!!",
    ]  # fmt: skip
    assert [step.changed for step in steps] == [False, True, False, True]
    assert (steps[1].outcome, steps[1].reason) == ("none" if case == "filtered" else "unread", reason)


def test_an_outage_makes_a_chain_wait_and_costs_nothing_twice(tmp_path: Path) -> None:
    painter, heard, down = Painter(), [], [True]

    def says(asked: Conversation) -> ScriptAnswer:
        item = asked.sights[0].item
        heard.append(item)
        return NoReply(kind="timeout", reason="gone") if down[0] and item.startswith("p2/") else critic(asked)

    report = loop(tmp_path / "loop", painter, says, rounds=2)
    assert report.waiting == {"an answer": 1}
    assert lights(report, 2) == [40, None, None, 41, 42]
    assert report.scores[0].levels[1].missing == 1
    down[0] = False
    report = loop(tmp_path / "loop", painter, says, rounds=2)
    assert report.is_complete
    assert lights(report, 2) == [40, 61, 82, 41, 42]
    assert max(Counter(painter.asked).values()) == 1
    assert Counter(heard)["p2/painter-round-0/0"] == 2
    assert all(count == 1 for item, count in Counter(heard).items() if item != "p2/painter-round-0/0")


def test_a_generator_that_fails_half_the_time_gets_there_and_no_picture_is_made_twice(tmp_path: Path) -> None:
    tries: Counter[str] = Counter()

    def fails(ask: Ask) -> bool:
        key = f"{ask.prompt.id} {ask.seed} {ask.prompt.view()}"
        tries[key] += 1
        return tries[key] % 2 == 1  # every first try

    painter = Painter(fails)
    report = loop(tmp_path / "loop", painter, rounds=2)
    assert report.waiting == {"a picture": 4}
    assert report.failed == {"error": 12}  # round 0, and both controls
    for _ in range(3):
        report = loop(tmp_path / "loop", painter, rounds=2)
    assert report.is_complete
    assert report.failed == {}
    assert lights(report) == [40, 61, 82, 41, 42]
    assert set(tries.values()) == {2}


def test_a_late_picture_does_not_change_what_was_said(tmp_path: Path) -> None:
    broken = [True]
    painter = Painter(lambda ask: broken[0] and ask.seed == 1)
    first = loop(tmp_path / "loop", painter, rounds=1, images=2)
    broken[0] = False
    report = loop(tmp_path / "loop", painter, rounds=1, images=2)
    assert first.chains[0].steps[0].seen == report.chains[0].steps[0].seen == "p0/painter-round-0/0"
    assert report.chains[0].steps[1] == first.chains[0].steps[1]
    assert report.failed == {}


# -- the folder --------------------------------------------------------------------------------------------------------


def test_another_loop_may_not_go_on_in_the_folder(tmp_path: Path) -> None:
    loop(tmp_path / "loop", rounds=1)
    with pytest.raises(BadValue, match="goes on with the seed"):
        loop(tmp_path / "loop", rounds=1, seed=5)
    generate_items(PROMPTS, [Painter()], GenerateSettings(), tmp_path / "study")
    with pytest.raises(BadFile, match="a study that is no loop"):
        loop(tmp_path / "study", rounds=1)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("mine")
    with pytest.raises(BadFile):
        loop(tmp_path / "other", rounds=1)


def card(prompts: list[Prompt]) -> RefineCard:
    return RefineCard(
        generator="g", vlm="v", wording="w", sees="original", images=1, seed=0, prompts=prompts_hash(prompts)
    )


def test_two_runs_at_once_are_told_apart(tmp_path: Path) -> None:
    with (
        open_refinement(tmp_path / "loop", PROMPTS, card(PROMPTS)),
        pytest.raises(BadFile, match="at work there now"),
        open_refinement(tmp_path / "loop", PROMPTS, card(PROMPTS)),
    ):
        pass


@pytest.mark.parametrize("torn", [b'{"prompt": "p3", "rou', b'{"prompt"\n', b"\xff\xfe"])
def test_a_torn_last_reply_is_cut_off_and_asked_for_again(tmp_path: Path, torn: bytes) -> None:
    painter = Painter()
    whole = loop(tmp_path / "loop", painter, rounds=1)
    path = tmp_path / "loop" / "refine" / "replies.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]) + torn)
    before = len(painter.asked)
    report = loop(tmp_path / "loop", painter, rounds=1)
    assert path.read_bytes().splitlines(keepends=True) == lines
    assert len(painter.asked) == before
    assert any("torn" in note for note in report.notes)
    assert report.chains == whole.chains


def test_a_line_that_is_no_reply_is_named(tmp_path: Path) -> None:
    loop(tmp_path / "loop", rounds=1)
    path = tmp_path / "loop" / "refine" / "replies.jsonl"
    path.write_text('{"prompt": "p1"}\n' + path.read_text())
    with pytest.raises(BadFile, match=r"replies\.jsonl:1"):
        loop(tmp_path / "loop", rounds=1)


def test_every_reply_is_on_record_with_its_picture(tmp_path: Path) -> None:
    loop(tmp_path / "loop", rounds=1)
    said = read_replies(tmp_path / "loop")["p0", 0]
    assert said.text == revised("poster 0!")
    assert said.revised == Prompt(id="p0", text="poster 0!")
    assert len(said.sha256 or "") == 64


def test_scorers_that_clash_and_unknown_picks_are_refused(tmp_path: Path) -> None:
    vlm, settings = ScriptedVlm("critic", critic), RefineSettings()
    with pytest.raises(BadValue, match="different names"):
        refine_study(PROMPTS, Painter(), vlm, settings, tmp_path / "a", scorers=[Lightness(), Lightness()])
    with pytest.raises(BadValue, match="to pick by"):
        refine_study(PROMPTS, Painter(), vlm, settings, tmp_path / "a", scorers=[Lightness()], pick="mood")
    assert not (tmp_path / "a").exists()


def test_the_report_is_left_as_json(tmp_path: Path) -> None:
    report = loop(tmp_path / "loop", rounds=1)
    found = json.loads((tmp_path / "loop" / "refine" / "report.json").read_text())
    assert RefineReport.parse(found | {"study": report.study}) == report


# -- figures -----------------------------------------------------------------------------------------------------------


def test_means_and_differences_are_paired_over_prompts(tmp_path: Path) -> None:
    report = loop(tmp_path / "loop", rounds=2)
    found = report.scores[0]
    assert [(one.arm, one.round, one.figure.value) for one in found.levels if one.figure] == [
        ("round", 0, 40), ("round", 1, 61), ("round", 2, 82), ("control", 1, 41), ("control", 2, 42),
    ]  # fmt: skip
    apart = {(one.first, one.second): one for one in found.differences}
    told = [*(one.figure for one in found.levels), *(one.figure for one in found.differences)]
    assert [(one.low, one.high) for one in told] == [(None, None)] * len(told)  # four prompts alike are not certain
    assert {key: one.figure.value for key, one in apart.items()} == {
        ("round 1", "round 0"): 21, ("round 2", "round 0"): 42,
        ("round 1", "control 1"): 20, ("round 2", "control 2"): 40,
        ("best of rounds", "best of controls"): 40,
    }  # fmt: skip
    one = apart["round 1", "control 1"]
    assert (one.p, one.holm) == (2 / 16, 5 * 2 / 16)  # two of sixteen sign patterns; five differences
    assert [(level.arm, level.figure.value) for level in found.best if level.figure] == [("round", 82), ("control", 42)]


def test_where_lower_is_better_the_lowest_is_the_best() -> None:
    values = {"a": 3.0, "b": 1.0, "c": 2.0}
    assert LoopScores("flaws", values, False, "", {}).best("abcd") == "b"
    assert LoopScores("worth", values, True, "", {}).best("abcd") == "a"
    assert LoopScores("worth", values, True, "", {}).best("d") is None


def test_the_best_round_need_not_be_the_last(tmp_path: Path) -> None:
    def says(asked: Conversation) -> ScriptAnswer:
        text = revised("poster!!!") if "round-0" in asked.sights[0].item else revised("poster")
        return text

    report = loop(tmp_path / "loop", says=says, rounds=2)
    assert {chain.best_round for chain in report.chains} == {1}
    assert "lightness" in report.chains[0].why
    last = next(one for one in report.scores[0].differences if one.first == "round 2" and one.second == "round 0")
    assert last.figure.value == gray(Prompt(id="p", text="poster"), 2) - 40


def test_a_house_is_held_against_true_quality_and_heeds_the_oracle(tmp_path: Path) -> None:
    prompts = read_prompts("briefs:posters")[:3]
    report = refine_study(
        prompts, house_generator("carnival", 1), layout_diagnosis("layout"), RefineSettings(rounds=1, size="240x339"),
        tmp_path / "loop",
    )  # fmt: skip
    (truth,) = report.scores
    assert truth.scorer == "true-quality"
    assert report.pick is None
    assert all(0 < one.figure.value <= 1 for one in truth.levels if one.figure)
    figures = [one.figure for one in truth.levels if one.figure and one.figure.low is not None]
    assert figures
    assert all(figure.low >= 0 and figure.high <= 1 for figure in figures)  # type: ignore[operator]
    assert report.replies == {"revised": 3}
    flawed = [chain for chain in report.chains if chain.steps[0].remarks]
    assert flawed
    assert all(chain.steps[1].changed for chain in flawed)
