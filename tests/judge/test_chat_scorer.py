"""VLMs behind endpoints as scorers: templates, how answers are read, and the whole way through a real server."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from chat_server import ChatServer
from PIL import Image
from scored_study import study_in

from salon.calls import BudgetSpent
from salon.errors import BadFile, BadValue
from salon.judge import (
    ChatTemplate,
    MissingScore,
    PictureScore,
    RaterSettings,
    Reply,
    ScorerInput,
    ScoreSettings,
    Sight,
    expand_model,
    expand_raters,
    make_scorer,
    read_chat_template,
    read_scores,
    score_study,
    scores_file,
    shipped_templates,
)
from salon.judge.chat_template import split_chat_name
from salon.judge.verdicts import TooManyUnread
from salon.models import ResultCache
from salon.study import Item, Prompt

THREE = "alignment-coherence-style"
GOOD = '{"alignment": 4, "coherence": 3, "style": 5}'


def chat(server: ChatServer, tmp_path: Path, name: str = THREE, score: str = "", **more: Any) -> Any:
    settings = RaterSettings(calls=tmp_path / "calls.sqlite", **more)
    word = f"chat:{name}@openai:tiny@{server.url}{'@' + score if score else ''}"
    return make_scorer(word, ScoreSettings(rater=settings))


def pictures(tmp_path: Path, count: int = 3) -> tuple[list[Item], list[Prompt | None]]:
    items = []
    for number in range(count):
        place = tmp_path / f"{number}.png"
        Image.new("RGB", (16 + number, 16), "teal").save(place)
        items.append(Item(id=str(number), image=str(place)))
    return items, [Prompt(id="p", text=f"a {{red}} fox, {number}") for number in range(count)]


def template(answer: str, **score: Any) -> ChatTemplate:
    entry = {"id": "s", "low": 1, "high": 5} | score
    return ChatTemplate.parse({"text": "{image} {prompt}", "answer": answer, "scores": [entry]}, where="test")


# -- reading -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ('{"s": 3}', 3.0),
        ('```json\n{"s": 3.5}\n```', 3.5),
        ('<think>{"s": 1}</think> {"s": 4}', 4.0),
        ('first {"s": 2}, no: {"s": 5}', 5.0),
        ('{"t": {"s": 2}}', "score missing"),
        ('{"s": "3"}', "not a number"),
        ('{"s": true}', "not a number"),
        ('{"s": null}', "not a number"),
        ('{"s": NaN}', "not a number"),
        ('{"s": 1e999}', "not a number"),
        ('{"s": 6}', "off the scale of 1 to 5"),
        ('{"s": 2, "s": 5}', "score given twice"),
        ("I would say four.", "not JSON"),
        ("3", "not JSON"),
        ("", "no answer after the thoughts"),
        ("<think>{", "no answer after the thoughts"),
    ],
)
def test_a_number_is_read_from_json_or_missing(text: str, number: float | str) -> None:
    form = template("json")
    assert form.read(Reply(text=text), form.scores[0]) == number


def test_whole_numbers_and_cut_answers() -> None:
    form = template("json", whole=True)
    assert form.read(Reply(text='{"s": 3.5}'), form.scores[0]) == "not a whole number"
    assert form.read(Reply(text='{"s": 3.0}'), form.scores[0]) == 3.0
    assert form.read(Reply(text='{"s', cut=True), form.scores[0]) == "not JSON, and cut off"
    assert form.read(Reply(text="", cut=True), form.scores[0]) == "cut off before the answer"


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("Score: 4", 4.0),
        ("score: 4.25\nAgain, Score: 4.25", 4.25),
        ("Score: 4, or Score: 3", "several scores that differ"),
        ("Score: X", "score missing"),
        ("Score: 9", "off the scale of 1 to 5"),
    ],
)
def test_a_number_is_read_by_pattern_or_missing(text: str, number: float | str) -> None:
    form = template("pattern", pattern=r"Score: (\d+(?:\.\d+)?)")
    assert form.read(Reply(text=text), form.scores[0]) == number


def test_the_probability_of_yes_is_not_divided_by_that_of_both() -> None:
    form = read_chat_template("yes-alignment")
    chances = {"Yes": math.log(0.3), "No": math.log(0.1)}
    assert form.read(Reply(text="Yes", chances=chances), form.scores[0]) == pytest.approx(0.3)
    reason = form.read(Reply(text="No", chances={"No": -0.01}), form.scores[0])
    assert reason == "the server does not list the log-probability of Yes"
    assert form.read(Reply(text="Yes"), form.scores[0]) == "no log-probabilities of Yes and No"


def test_unified_reward_answers_are_read() -> None:
    form = read_chat_template("unified-reward-2")
    said = "Alignment Score (1-5): 3.8\nCoherence Score (1-5): 4\n**Style Score (1-5):** 2.5"
    assert [form.read(Reply(text=said), score) for score in form.scores] == [3.8, 4.0, 2.5]
    assert form.read(Reply(text="Alignment Score (1-5): X"), form.scores[0]) == "score missing"


# -- templates and names -----------------------------------------------------------------------------------------------


def test_templates_that_come_with_salon_ask_about_picture_and_prompt() -> None:
    assert set(shipped_templates()) >= {THREE, "yes-alignment", "unified-reward-2"}
    for name in shipped_templates():
        form = read_chat_template(name)
        asked = form.conversation(Sight(item="x", path=Path("x.png")), "a {image} of {prompt}")
        assert len(asked.sights) == 1
        assert "a {image} of {prompt}" in "".join(part for part in asked.parts if isinstance(part, str))
        assert all(score.measures for score in form.scores)


@pytest.mark.parametrize(
    ("change", "needed"),
    [
        ({"text": "no picture"}, "{image} once"),
        ({"answer": "pattern"}, "needs a pattern"),
        ({"answer": "yes"}, "one score from 0 to 1"),
        ({"scores": []}, "scores"),
        ({"scores": [{"id": "s", "low": 2, "high": 1}]}, "below high"),
        ({"scores": [{"id": "s", "pattern": "(("}]}, "regular expression"),
        ({"scores": [{"id": "s", "pattern": "x"}]}, "needs a group"),
        ({"scores": [{"id": "s"}, {"id": "s"}]}, "once each"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_a_wrong_template_says_what_is_wrong(change: dict[str, Any], needed: str) -> None:
    record = {"text": "{image}", "scores": [{"id": "s", "low": 1, "high": 5}]} | change
    with pytest.raises(BadValue) as error:
        ChatTemplate.parse(record, where="test")
    assert needed in str(error.value)


def test_names() -> None:
    name = split_chat_name("chat:my/t.toml@openai:org/m:7b@http://h:1/v1@style")
    assert name is not None
    assert (name.file, name.endpoint, name.score) == ("my/t.toml", "openai:org/m:7b@http://h:1/v1", "style")
    assert name.title == "t-org-m-7b"
    assert split_chat_name("clip:x@y") is None
    for bad in ("chat:x.toml", "chat:@openai:m", "chat:x.toml@openai:"):
        with pytest.raises(BadValue, match="template and an endpoint"):
            split_chat_name(bad)
    word = f"chat:{THREE}@gemini:flash"
    every = [f"{word}@alignment", f"{word}@coherence", f"{word}@style"]
    assert expand_model(word) == expand_raters([word], ["x"]) == every
    assert expand_model(every[0]) == every[:1]
    assert expand_model("chat:yes-alignment@openai:m") == ["chat:yes-alignment@openai:m"]
    with pytest.raises(BadValue, match="@alignment, @coherence, @style"):
        make_scorer(word)
    with pytest.raises(BadFile, match="template"):
        make_scorer("chat:nothing.toml@openai:m")


# -- through a server --------------------------------------------------------------------------------------------------


def test_scores_of_one_template_share_their_answers(tmp_path: Path) -> None:
    items, prompts = pictures(tmp_path)
    with ChatServer(lambda _: GOOD) as server:
        assert chat(server, tmp_path, score="alignment").score(items, prompts) == [4.0] * 3
        assert chat(server, tmp_path, score="style").score(items, prompts) == [5.0] * 3
        assert len(server.seen) == 3
        sent = server.seen[0].fields
        assert sent["response_format"]["json_schema"]["schema"]["required"] == ["alignment", "coherence", "style"]
        assert "a {red} fox" in json.dumps(sent["messages"])


def test_what_cannot_be_read_or_got_no_reply_is_missing_with_its_reason(tmp_path: Path) -> None:
    items, prompts = pictures(tmp_path, 4)
    said = iter([GOOD, "four", '{"alignment": 7}', GOOD])
    with ChatServer(lambda _: next(said)) as server:
        scorer = chat(server, tmp_path, score="alignment", concurrency=1)
        server.script["Look closely at this image:"] = ["ok", "ok", "ok", "filtered"]
        results = scorer.results([*items, Item(id="gone", image="gone.png")], [*prompts, prompts[0]])
    assert results[0] == PictureScore(4.0)
    assert results[1] == MissingScore("the answer gives no score: not JSON")
    assert results[2] == MissingScore("the answer gives no score: off the scale of 1 to 5")
    assert isinstance(results[3], MissingScore)
    assert results[3].reason.startswith("refused: ")
    assert isinstance(results[4], MissingScore)


def test_the_probability_of_yes_through_a_server(tmp_path: Path) -> None:
    def brain(body: dict[str, Any]) -> dict[str, Any]:
        assert body["logprobs"] is True
        top = [{"token": "No", "logprob": math.log(0.6)}, {"token": "Yes", "logprob": math.log(0.25)}]
        top.append({"token": " Yes", "logprob": math.log(0.05)})  # another place: does not count
        return {"content": "No", "logprobs": {"content": [top[0] | {"top_logprobs": top}]}}

    items, prompts = pictures(tmp_path)
    with ChatServer(brain) as server:
        scores = chat(server, tmp_path, "yes-alignment").score(items, prompts)
    assert scores == pytest.approx([0.25] * 3)
    with ChatServer(lambda _: "Yes") as server:  # no log-probabilities: no number, whatever it says
        results = chat(server, tmp_path, "yes-alignment").results(items, prompts)
    assert set(results) == {MissingScore("the answer gives no score: no log-probabilities of Yes and No")}


def test_busy_servers_are_asked_again_and_budgets_hold(tmp_path: Path) -> None:
    items, prompts = pictures(tmp_path, 4)
    prices = tmp_path / "prices.toml"
    prices.write_text('currency = "USD"\n[models.tiny]\ninput = 0\noutput = 1000\nimage_tokens = 1\n')
    with ChatServer(lambda _: GOOD) as server:
        server.script["Look closely at this image:"] = ["429 0", "503", "ok"]
        assert chat(server, tmp_path, score="style").score(items[:1], prompts[:1]) == [5.0]
        assert len(server.seen) == 3
        poor = chat(server, tmp_path, score="style", prices=prices, budget=0.3, concurrency=1)
        server.brain = lambda _: {"content": GOOD, "usage": {"prompt_tokens": 1, "completion_tokens": 200}}
        assert poor.score(items[1:2], prompts[1:2]) == [5.0]  # 0.2 of 0.3; 256 tokens may cost 0.256
        with pytest.raises(BudgetSpent):
            poor.score(items[2:], prompts[2:])
        assert len(server.seen) == 4


def test_a_study_is_scored_and_a_second_run_buys_nothing(tmp_path: Path) -> None:
    study = study_in(tmp_path / "study", broken=True)
    cache = ResultCache(tmp_path / "cache.sqlite")
    with ChatServer(lambda _: GOOD) as server:
        scorer = chat(server, tmp_path, score="coherence")
        run = score_study(study, tmp_path / "study", scorer, ScoreSettings(), cache=cache)
        assert (run.scored, run.items, len(server.seen)) == (8, 10, 8)
        again = score_study(study, tmp_path / "study", scorer, ScoreSettings(), cache=cache)
        assert (again.scored, len(server.seen)) == (8, 8)
    table = read_scores(scores_file(tmp_path / "study" / "scores", scorer.name)).to_pylist()
    assert {row["value"] for row in table} == {3.0, None}
    assert (run.card.low, run.card.high, run.card.criterion) == (1, 5, "coherence")


def test_a_run_of_unreadable_answers_ends_and_writes_nothing(tmp_path: Path) -> None:
    study = study_in(tmp_path / "study", broken=False)
    with ChatServer(lambda _: "lovely") as server, pytest.raises(TooManyUnread, match="lovely"):
        score_study(study, tmp_path / "study", chat(server, tmp_path, score="style"), cache=ResultCache(tmp_path / "c"))
    assert not (tmp_path / "study" / "scores").exists()


def test_pictures_that_are_no_files_are_asked_about(tmp_path: Path) -> None:
    image = Image.new("RGB", (8, 8), "navy")
    inputs: Sequence[ScorerInput] = [ScorerInput(image, None, "a sea", Path("0" * 64), "0" * 64)]
    with ChatServer(lambda _: GOOD) as server:
        assert chat(server, tmp_path, score="style").look(inputs) == [PictureScore(5.0)]
        assert chat(server, tmp_path, score="style").look(inputs) == [PictureScore(5.0)]
        assert len(server.seen) == 1


def test_further_fields_and_the_signature(tmp_path: Path) -> None:
    items, prompts = pictures(tmp_path, 1)
    with ChatServer(lambda _: GOOD) as server:
        plain, hard = (chat(server, tmp_path, score="style", field=field) for field in ((), ("reasoning_effort=high",)))
        hard.score(items, prompts)
        assert server.seen[0].fields["reasoning_effort"] == "high"
    assert plain.signature != hard.signature
    assert "template" in str(plain.signature)
