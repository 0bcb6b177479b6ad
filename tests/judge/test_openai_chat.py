"""A VLM behind the chat protocol, against a real server with everything servers do."""

from __future__ import annotations

import base64
import io
import json
import math
from pathlib import Path
from typing import Any

import pytest
from chat_server import ChatServer
from images_server import KEY, picture
from PIL import Image

from salon.calls import Budget, BudgetSpent, CallStore, Limits, NotServed, Prices, Secret
from salon.calls.errors import Unreachable, WrongKey
from salon.errors import BadValue
from salon.judge import Conversation, Decoding, NoReply, OpenAIChat, Reply, Sight, Vlm
from salon.judge.chat_protocol import PictureSettings

SHAPE = {"type": "object", "properties": {"verdict": {"enum": ["A", "B"]}}, "required": ["verdict"]}
QUICK = Limits(first_wait=0.01, patience=20, attempts=4, start=1, grace=0.5)
HASTY = QUICK.model_copy(update={"read": 1, "total": 1})
"""Only where an answer is to come too late: a busy machine may take a second for any other."""
PRICES = Prices.parse({"models": {"tiny": {"input": 10, "output": 100, "image_tokens": 1000}}})


@pytest.fixture
def store(tmp_path: Path) -> Any:
    with CallStore(tmp_path / "calls.sqlite") as store:
        yield store


@pytest.fixture
def asked(tmp_path: Path) -> Any:
    """A question about two pictures, by its text."""
    sights = []
    for name, size in (("red", "40x20"), ("blue", "20x40")):
        path = tmp_path / f"{name}.png"
        path.write_bytes(picture(name, size))
        sights.append(Sight(item=name, path=path))

    def make(text: str = "which?", **more: Any) -> Conversation:
        parts = (text, "Image A:", sights[0], "Image B:", sights[1])
        return Conversation(parts=parts, **{"options": ("A", "B"), "shape": SHAPE} | more)

    return make


def chat(server: ChatServer | str, store: CallStore, **more: Any) -> OpenAIChat:
    url = server if isinstance(server, str) else server.url
    return OpenAIChat("judge", **{"model": "tiny", "base_url": url, "store": store, "limits": QUICK} | more)


def one(vlm: Vlm, conversation: Conversation) -> Reply | NoReply:
    [(_, result)] = vlm.reply([conversation])
    return result


def shown(part: dict[str, Any]) -> Image.Image:
    head, _, data = part["image_url"]["url"].partition(",")
    assert head in {"data:image/png;base64", "data:image/jpeg;base64"}
    return Image.open(io.BytesIO(base64.b64decode(data)))


def test_what_is_sent_and_what_comes_back(store: CallStore, asked: Any) -> None:
    with ChatServer() as server, chat(server, store, prices=PRICES) as vlm:
        assert isinstance(vlm, Vlm)
        reply = one(vlm, asked(system="be fair", decoding=Decoding(max_tokens=9, seed=4)))
    body = server.seen[0].fields
    assert [message["role"] for message in body["messages"]] == ["system", "user"]
    kinds = [part.get("text", "picture") for part in body["messages"][1]["content"]]
    assert kinds == ["which?", "Image A:", "picture", "Image B:", "picture"]
    assert shown(body["messages"][1]["content"][2]).size == (40, 20)
    told = [body[name] for name in ("model", "temperature", "max_tokens", "seed")]
    assert told == ["tiny", 0.0, 9, 4]
    assert body["response_format"]["json_schema"]["schema"] == SHAPE
    assert (body["logprobs"], body["top_logprobs"]) == (True, 20)
    assert isinstance(reply, Reply)
    assert (reply.text, reply.model, reply.tokens_in, reply.tokens_out) == ('{"verdict": "A"}', "tiny-1", 100, 5)
    assert reply.cost == pytest.approx((100 * 10 + 5 * 100) / 1e6)
    assert reply.seconds > 0
    assert not reply.stored


def test_a_stored_answer_needs_no_server_and_no_decoding(
    store: CallStore, asked: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ChatServer() as server, chat(server, store) as vlm:
        first = list(vlm.reply([asked("1"), asked("2"), asked("1")]))
        assert server.counts == {"1": 1, "2": 1}
    monkeypatch.setattr("salon.judge.chat_protocol.read_picture", None)
    with chat(server, store) as vlm:
        again = list(vlm.reply([asked("1"), asked("2"), asked("1")]))
        assert (vlm.account.sent, vlm.account.from_store) == (0, 3)
        assert vlm.forecast([asked("1"), asked("3"), asked("3")]).stored == 2
    assert {(index, reply.text, reply.at) for index, reply in first} == {
        (i, reply.text, reply.at) for i, reply in again
    }
    assert all(reply.at for _, reply in first)
    assert all(reply.stored for _, reply in again)


def test_the_key_covers_what_is_asked(store: CallStore, asked: Any, tmp_path: Path) -> None:
    vlm = chat("http://localhost:1/v1", store)
    plain = asked()
    red, blue = plain.sights
    others = [
        *(asked("other"), asked(sample=1), asked(system="s"), asked(shape=None), asked(options=())),
        asked(decoding=Decoding(temperature=1)),
        plain.model_copy(update={"parts": ("which?", "Image A:", blue, "Image B:", red)}),
    ]
    keys = [vlm.key(plain), *map(vlm.key, others)]
    for change in ({"model": "x"}, {"base_url": "http://localhost:2/v1"}, {"structured": "json"}, {"fields": {"k": 1}}):
        keys.append(chat(**{"server": "http://localhost:1/v1", "store": store} | change).key(plain))
    keys.append(chat("http://localhost:1/v1", store, pictures=PictureSettings(pixels=100)).key(plain))
    moved = Sight(item="elsewhere", path=tmp_path / "moved.png")
    moved.path.write_bytes(red.path.read_bytes())
    same = plain.model_copy(update={"parts": ("which?", "Image A:", moved, "Image B:", blue), "about": ("mood",)})
    assert vlm.key(same) == vlm.key(plain)
    red.path.write_bytes(picture("other", "40x20"))
    keys.append(chat("http://localhost:1/v1", store).key(plain))
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize(
    "fault", ["429 0", "429 date 1", "500", "503", "slow", "reset", "truncated", "not json", "no choices"]
)
def test_what_passes_is_tried_again(store: CallStore, asked: Any, fault: str) -> None:
    limits = HASTY if fault == "slow" else QUICK
    with ChatServer(slow=30) as server, chat(server, store, limits=limits) as vlm:
        server.script["which?"] = [fault]
        assert isinstance(one(vlm, asked()), Reply)
        assert len(server.seen) == 2
    assert store.totals().answers == 1


@pytest.mark.parametrize(
    ("fault", "kind", "says"),
    [
        ("too long", "too-long", "maximum context length"),
        ("filtered", "refused", "content management policy"),
        ("held back", "refused", "content filter"),
        ("declined", "refused", "I can't help"),
        ("bad image", "broken-image", "cannot decode"),
    ],
)
def test_what_is_refused_is_recorded(store: CallStore, asked: Any, fault: str, kind: str, says: str) -> None:
    with ChatServer() as server, chat(server, store) as vlm:
        server.script["which?"] = [fault]
        found = one(vlm, asked())
        assert isinstance(one(vlm, asked("another")), Reply)  # the run goes on
    assert isinstance(found, NoReply)
    assert found.kind == kind
    assert says in found.reason
    assert server.counts["which?"] == 1


def test_what_never_comes_is_recorded(store: CallStore, asked: Any) -> None:
    hasty = HASTY.model_copy(update={"attempts": 2})
    with ChatServer(slow=30) as server, chat(server, store, limits=hasty) as vlm, chat(server, store) as patient:
        server.script |= {"late": ["slow"] * 9, "broken": ["no choices"] * 9}
        late, broken = one(vlm, asked("late")), one(patient, asked("broken"))
    assert (late.kind, broken.kind) == ("timeout", "error")
    assert server.counts == {"late": 2, "broken": 2}  # a paid answer that is no answer is bought at most twice
    assert store.totals().unusable == 2


def test_texts_arrive_as_they_are(store: CallStore, asked: Any) -> None:
    with ChatServer() as server, chat(server, store) as vlm:
        server.script |= {name: [name] for name in ("wrong letter", "gibberish")}
        wrong, gibberish = (one(vlm, asked(name)) for name in ("wrong letter", "gibberish"))
    assert wrong.text == '{"verdict": "C"}'
    assert gibberish.text == "\u0410 \ufffd {{{"


class Thinker:
    """A model that thinks for so many tokens before it says a word, and says it in ten more."""

    def __init__(self, thinks: int) -> None:
        self.thinks, self.limits = thinks, list[int]()

    def __call__(self, body: dict[str, Any]) -> dict[str, Any]:
        limit = body.get("max_tokens") or body["max_completion_tokens"]
        self.limits.append(limit)
        ends = limit >= self.thinks + 10
        usage = {"prompt_tokens": 100, "completion_tokens": self.thinks + 10 if ends else limit}
        said = {"content": '{"verdict": "B"}', "finish_reason": "stop"}
        return (said if ends else {"content": "", "finish_reason": "length"}) | {"usage": usage}


def test_a_reply_cut_off_is_asked_again_with_more_tokens(store: CallStore, asked: Any) -> None:
    thinker = Thinker(3000)
    with ChatServer(thinker) as server, chat(server, store, prices=PRICES) as vlm:
        reply = one(vlm, asked())
        assert (reply.text, reply.cut, reply.stored) == ('{"verdict": "B"}', False, False)
        assert thinker.limits == [512, 2048, 8192]
        assert reply.tokens_out == 512 + 2048 + 3010  # what the answer took, with the replies before it
        assert reply.cost == pytest.approx(float(vlm.account.cost))
        assert vlm.asked_again == 2
        assert any("more tokens" in note for note in vlm.notes())
        again = one(vlm, asked())
        assert (again.text, again.stored, again.cost) == (reply.text, True, reply.cost)
    assert len(thinker.limits) == 3


def test_what_is_still_cut_off_goes_on_in_the_next_run(store: CallStore, asked: Any) -> None:
    thinker = Thinker(20_000)
    with ChatServer(thinker) as server:
        with chat(server, store) as vlm:
            assert (one(vlm, asked()).cut, thinker.limits) == (True, [512, 2048, 8192])
            cast = vlm.forecast([asked()])
            assert (cast.stored, cast.tokens_out) == (0, 32_768)
        with chat(server, store, most_tokens=8192) as vlm:  # no more than that: nothing is sent
            assert one(vlm, asked()).cut
            assert vlm.forecast([asked()]).stored == 1
        with chat(server, store, most_tokens=0) as vlm:
            assert one(vlm, asked()).cut
        assert len(thinker.limits) == 3
        with chat(server, store) as vlm:
            assert one(vlm, asked()).text == '{"verdict": "B"}'
    assert thinker.limits == [512, 2048, 8192, 32_768]


@pytest.mark.parametrize(("most", "limits", "cut"), [(5000, [512, 2048, 4096], False), (2048, [512, 2048], True)])
def test_a_server_that_allows_fewer_tokens(
    store: CallStore, asked: Any, most: int, limits: list[int], cut: bool
) -> None:
    thinker = Thinker(3000)
    with ChatServer(thinker) as server, chat(server, store) as vlm:
        for size in (512, 2048, 4096, 8192, 16384, 32768):
            if size > most:
                server.refuses[f'"max_tokens": {size}'] = f"max_tokens is too large: {size}"
        assert one(vlm, asked()).cut is cut
        sent = len(server.seen)
        assert one(vlm, asked()).cut is cut
    assert thinker.limits == limits  # nothing was bought twice
    assert cut or len(server.seen) == sent


@pytest.mark.parametrize(
    ("text", "more", "times"),
    [
        ('{"verdict": "B"} because', {}, 1),  # the verdict is there
        ('{"verdict": "B"} because', {"shape": None, "options": ()}, 3),  # the text itself is the answer
        ("I think {A} is", {}, 3),
    ],
)
def test_a_verdict_before_the_end_is_whole(
    store: CallStore, asked: Any, text: str, more: dict[str, Any], times: int
) -> None:
    with ChatServer(lambda _: {"content": text, "finish_reason": "length"}) as server, chat(server, store) as vlm:
        assert one(vlm, asked(**more)).text == text
    assert len(server.seen) == times


@pytest.mark.parametrize(
    "url", ["https://host/v1?key=hushhush", "https://host/v1#hushhush", "https://u:hushhush@host/v1"]
)
def test_no_address_holds_a_key(store: CallStore, url: str) -> None:
    with pytest.raises(BadValue) as raised:
        chat(url, store)
    assert "hushhush" not in str(raised.value)


def test_the_endpoint_is_learnt_and_nothing_is_bought_twice(store: CallStore, asked: Any) -> None:
    questions = [asked(str(number)) for number in range(6)]
    with ChatServer() as server, chat(server, store) as vlm:
        server.refuses = {"json_schema": "response_format", "json_object": "response_format", "logprobs": "logprobs"}
        server.refuses |= {"max_tokens": "use max_completion_tokens", '"temperature"': "temperature 0"}
        assert all(isinstance(reply, Reply) for _, reply in vlm.reply(questions))
        sent = [one.fields for one in server.seen]
        assert [set(fields) - {"model", "messages"} for fields in sent[-5:]] == [{"max_completion_tokens"}] * 5
        assert any("not greedy" in note for note in vlm.notes())
        assert any("free text" in note for note in vlm.notes())
        assert store.totals().answers == 6
        server.refuses = {}  # the server is updated, and another run begins with the fullest request
        before = len(server.seen)
        with chat(server, store) as later:
            assert all(reply.stored for _, reply in later.reply(questions))
        assert len(server.seen) == before


def test_a_chosen_shape_is_not_given_up(store: CallStore, asked: Any) -> None:
    with ChatServer() as server, chat(server, store, structured="schema") as vlm:
        server.refuses = {"json_schema": "response_format"}
        assert one(vlm, asked()).kind == "error"
    with ChatServer() as server, chat(server, store, structured="none") as vlm:
        assert isinstance(one(vlm, asked()), Reply)
        assert "response_format" not in server.seen[0].fields


def test_answers_of_several_models_are_told(store: CallStore, asked: Any) -> None:
    with ChatServer() as server, chat(server, store) as vlm:
        one(vlm, asked("1"))
        assert not any("several models" in note for note in vlm.notes())
        server.model = "tiny-2"
        one(vlm, asked("2"))
        assert "the answers are of several models: tiny-1 (1), tiny-2 (1)" in vlm.notes()


def test_samples_have_seeds_of_their_own(store: CallStore, asked: Any) -> None:
    warm = Decoding(temperature=1, seed=7)
    with ChatServer() as server, chat(server, store) as vlm:
        list(vlm.reply([asked(decoding=warm, sample=number) for number in range(3)]))
    assert sorted(one.fields["seed"] for one in server.seen) == [7, 8, 9]


def logprobs(*tokens: tuple[str, dict[str, float]]) -> dict[str, Any]:
    def entry(text: str, chance: float) -> dict[str, Any]:
        return {"token": text, "bytes": list(text.encode()), "logprob": chance}

    content = [
        entry(text, likely[text]) | {"top_logprobs": [entry(*pair) for pair in likely.items()]}
        for text, likely in tokens
    ]
    return {"content": content}


def test_chances_of_the_options(store: CallStore, asked: Any) -> None:
    half, quarter, eighth = math.log(0.5), math.log(0.25), math.log(0.125)
    tokens = [
        ('{"why": "A', {'{"why": "A': 0.0}),  # not here: the verdict is the last one
        ('", "verdict": "', {'", "verdict": "': 0.0}),
        ("B", {"B": half, "A": quarter, 'A"': eighth, "C": eighth}),
        ('"}', {'"}': 0.0}),
    ]
    said = {"content": "".join(text for text, _ in tokens), "logprobs": logprobs(*tokens)}
    with ChatServer(lambda _: said) as server, chat(server, store) as vlm:
        reply = one(vlm, asked())
        nothing = one(vlm, asked("2", options=("X", "Y")))
    assert reply.chances == pytest.approx({"A": math.log(0.375), "B": half})
    assert nothing.chances is None  # the reply names none of them


@pytest.mark.parametrize("fault", ["no model", "invalid model"])
def test_a_wrong_model_ends_the_run(store: CallStore, asked: Any, fault: str) -> None:
    with ChatServer() as server, chat(server, store) as vlm:
        server.always = fault
        with pytest.raises(NotServed, match="model"):
            list(vlm.reply(asked(str(number)) for number in range(50)))
        assert len(server.seen) < 5


def test_a_wrong_key_ends_the_run_and_is_not_shown(
    store: CallStore, asked: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ChatServer() as server, chat(server, store, secrets=[Secret("JUDGE_KEY")]) as vlm:
        with pytest.raises(WrongKey, match="JUDGE_KEY"):
            vlm.reply([asked()])  # none at all: before anything is sent
        assert not server.seen
        monkeypatch.setenv("JUDGE_KEY", "sk-wrong-key-000")
        with pytest.raises(WrongKey) as error:
            one(vlm, asked())
        assert "sk-wrong-key-000" not in str(error.value)
        monkeypatch.setenv("JUDGE_KEY", KEY)
        assert isinstance(one(vlm, asked()), Reply)


def test_nobody_there(store: CallStore, asked: Any) -> None:
    with chat("http://127.0.0.1:9/v1", store) as vlm, pytest.raises(Unreachable):
        one(vlm, asked())


def test_the_budget_is_kept(store: CallStore, asked: Any) -> None:
    with ChatServer() as server:
        with chat(server, store, budget=Budget("0.1")) as vlm, pytest.raises(BadValue, match="needs a price"):
            vlm.reply([asked()])
        # a question may read 20 bytes and 2 pictures of 1,000 tokens and write 10: 20,220 + 1,000 millionths
        questions = [asked("1234567", decoding=Decoding(max_tokens=10), sample=n) for n in range(9)]
        with chat(server, store, prices=PRICES, budget=Budget("0.0222")) as vlm:
            seen = vlm.forecast(questions)
            assert (seen.questions, seen.tokens_in, seen.tokens_out) == (9, 9 * 2023, 90)
            assert float(seen.cost) == pytest.approx(9 * (20230 + 1000) / 1e6)
            with pytest.raises(BudgetSpent):
                list(vlm.reply(questions))
        assert len(server.seen) == 1  # it cost 1,500 millionths: no second one fits


def test_pictures(store: CallStore, tmp_path: Path) -> None:
    Image.linear_gradient("L").resize((300, 200)).convert("RGB").save(tmp_path / "large.webp", lossless=True)
    (tmp_path / "torn.png").write_bytes(picture("x", "64x64")[:60])
    large, torn, gone = (Sight(item=f"a/{name}", path=tmp_path / name) for name in ("large.webp", "torn.png", "gone"))
    with ChatServer() as server:
        for settings in (PictureSettings(pixels=5000), PictureSettings(pixels=5000, format="jpeg", detail="low")):
            with chat(server, store, pictures=settings) as vlm:
                one(vlm, Conversation(parts=(large,)))
                assert [one(vlm, Conversation(parts=(bad,))).kind for bad in (torn, gone)] == ["broken-image"] * 2
        settings = PictureSettings(address="https://pictures.example/{item}")
        with chat(server, store, pictures=settings) as vlm:
            one(vlm, Conversation(parts=(large,)))
    small, jpeg, named = (one.fields["messages"][0]["content"][0] for one in server.seen)
    assert (shown(small).format, shown(small).size) == ("PNG", (86, 57))  # 300:200 within 5,000 pixels
    assert (shown(jpeg).format, jpeg["image_url"]["detail"]) == ("JPEG", "low")
    assert named["image_url"] == {"url": "https://pictures.example/a%2Flarge.webp"}
    with pytest.raises(ValueError, match="all of them are the same"):
        PictureSettings(address="https://pictures.example/one.png")


def test_fields_of_its_own(store: CallStore, asked: Any) -> None:
    with ChatServer() as server, chat(server, store, fields={"reasoning_effort": "low"}) as vlm:
        one(vlm, asked())
        assert server.seen[0].fields["reasoning_effort"] == "low"
        assert vlm.signature.settings["fields.reasoning_effort"] == json.dumps("low")
    with pytest.raises(BadValue, match="temperature"):
        chat(server, store, fields={"temperature": 1})
