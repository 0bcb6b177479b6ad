"""One call about several criteria: each is read for itself, and what the call cost is counted once."""

from __future__ import annotations

from judged_study import judged_study

from salon.judge import JudgeQuestion, JudgeSettings, NoReply, Reply, VerdictReader

BOTH = ("taste/mood", "type")
PAIR = JudgeQuestion(protocol="compare", criteria=BOTH, prompt="p1", a="p1-a", b="p1-b", left="b")
TEXT = '<think>A is louder</think><answer>{"taste/mood": "A", "type": "TIE"}</answer>'


def read(reply, question: JudgeQuestion = PAIR, **settings):
    return VerdictReader(judged_study(), JudgeSettings(**({"together": True} | settings)), "j").verdicts(
        question, reply
    )


def test_each_criterion_has_its_verdict_by_item() -> None:
    mood, type_ = read(Reply(text=TEXT, model="m-1", seconds=2.0))
    assert (mood.criterion, mood.outcome) == ("taste/mood", "b")  # Image A was item b
    assert (type_.criterion, type_.outcome) == ("type", "tie")
    assert (mood.text, mood.model, mood.left, mood.prompt, mood.judge) == (TEXT, "m-1", "b", "p1", "j")


def test_a_call_is_paid_once() -> None:
    verdicts = read(Reply(text=TEXT, tokens_in=100, tokens_out=20, cost=0.5))
    assert [sum(getattr(one, name) for one in verdicts) for name in ("tokens_in", "tokens_out", "cost")] == [
        100,
        20,
        0.5,
    ]
    assert [one.cost for one in read(Reply(text=TEXT))] == [None, None]


def test_a_criterion_left_out_is_unparsed_and_the_others_count() -> None:
    mood, type_ = read(Reply(text='<answer>{"Mood and tone": "b"}</answer>'))
    assert (mood.outcome, mood.unparsed) == ("a", None)
    assert (type_.outcome, type_.unparsed) == (None, "criterion not answered")


def test_no_reply_is_no_verdict_on_any_criterion() -> None:
    for verdict in read(NoReply(kind="refused", reason="not this picture")):
        assert (verdict.failed, verdict.unparsed, verdict.outcome) == ("refused", "no reply", None)
        assert verdict.text == "not this picture"


def test_a_number_for_every_criterion_on_its_own_scale() -> None:
    question = JudgeQuestion(protocol="rate", criteria=BOTH, a="p1-a")
    mood, type_ = read(Reply(text='<answer>{"taste/mood": 4.5, "type": 3}</answer>'), question, protocol="rate")
    assert mood.value == 4.5
    assert (type_.value, type_.unparsed) == (None, "outside the scale")


def test_chances_belong_to_a_single_criterion() -> None:
    reply = Reply(text='{"verdict": "A"}', chances={"A": 0.0, "B": -100.0})
    alone = PAIR.model_copy(update={"criteria": ("type",), "left": "a"})
    assert read(reply, alone, together=False)[0].chance == 1.0
    assert read(reply.model_copy(update={"text": TEXT}))[0].chance is None
