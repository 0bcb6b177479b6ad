"""A real, tiny Qwen-VL as a judge: in this process and behind a server, with the same words and the same chances."""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import Any

import pytest
import torch
from chat_server import ChatServer
from images_server import picture
from PIL import Image
from tiny_vlm import FAMILIES, build_tiny_vlm
from transformers import AutoModelForImageTextToText

from salon.calls import CallStore
from salon.errors import BadValue
from salon.judge import Conversation, Decoding, NoReply, OpenAIChat, Reply, Sight, Vlm
from salon.judge.local_vlm import LocalVlm
from salon.models.weights import MissingWeights

NAMES = ("red", "green", "blue", "gray", "teal")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_tiny_vlm(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> list[Conversation]:
    """Questions about pictures of different sizes, in both orders."""
    place = tmp_path_factory.mktemp("pictures")
    sights = []
    for number, name in enumerate(NAMES):
        (place / f"{name}.png").write_bytes(picture(name, f"{40 + 8 * number}x{64 - 8 * number}"))
        sights.append(Sight(item=name, path=place / f"{name}.png"))
    orders = [(a, b) for a in sights for b in sights if a is not b]
    return [asked(a, b) for a, b in orders]


def asked(*sights: Sight, **more: Any) -> Conversation:
    parts: list[str | Sight] = ["which is better?"]
    for label, sight in zip("AB", sights):
        parts += [f"Image {label}:", sight]
    settings = {"options": ("A", "B"), "decoding": Decoding(max_tokens=4), "system": "Be fair."}
    return Conversation(parts=tuple(parts), **settings | more)


def replies(vlm: Vlm, conversations: list[Conversation]) -> list[Any]:
    found = dict(vlm.reply(conversations))
    return [found[index] for index in range(len(conversations))]


class Served:
    """The same weights behind the chat protocol, by plain transformers: what a serving engine would compute."""

    def __init__(self, folder: Path, processor: Any) -> None:
        self.model = AutoModelForImageTextToText.from_pretrained(folder).eval()
        self.processor = processor

    def __call__(self, body: dict[str, Any]) -> dict[str, Any]:
        messages = [
            {"role": one["role"], "content": [self._part(part) for part in _parts(one["content"])]}
            for one in body["messages"]
        ]
        inputs = self.processor.apply_chat_template(
            [messages], tokenize=True, add_generation_prompt=True, return_dict=True, return_tensors="pt"
        )
        with torch.no_grad():
            made = self.model.generate(
                **inputs, max_new_tokens=body["max_tokens"], output_logits=True, return_dict_in_generate=True
            )
        ids = made.sequences[0, inputs["input_ids"].shape[1] :].tolist()
        chances = [step[0].log_softmax(-1) for step in made.logits]
        content = [self._entry(id, step, body["top_logprobs"]) for id, step in zip(ids, chances)]
        text = self.processor.tokenizer.decode(ids, skip_special_tokens=True)
        return {"content": text, "logprobs": {"content": content}, "finish_reason": "length"}

    def _part(self, part: dict[str, Any]) -> dict[str, Any]:
        if part["type"] == "text":
            return part
        data = base64.b64decode(part["image_url"]["url"].partition(",")[2])
        return {"type": "image", "image": Image.open(io.BytesIO(data)).convert("RGB")}

    def _entry(self, id: int, step: torch.Tensor, count: int) -> dict[str, Any]:
        def told(id: int) -> dict[str, Any]:
            text = self.processor.tokenizer.decode([id])
            return {"token": text, "bytes": list(text.encode()), "logprob": float(step[id])}

        return told(id) | {"top_logprobs": [told(one) for one in step.topk(count).indices.tolist()]}


def _parts(content: Any) -> list[dict[str, Any]]:
    return content if isinstance(content, list) else [{"type": "text", "text": content}]


def test_in_process_and_served_are_one(folder: Path, pairs: list[Conversation], tmp_path: Path) -> None:
    local = LocalVlm(folder)
    here = replies(local, pairs)
    with ChatServer(Served(folder, local.loaded.processor)) as server, CallStore(tmp_path / "c.sqlite") as store:
        chat = OpenAIChat("served", model="tiny", base_url=server.url, store=store)
        there = replies(chat, pairs)
        chat.close()
    assert isinstance(local, Vlm)
    assert [one.text for one in here] == [one.text for one in there]
    assert {one.text for one in here} == {'"A', '"B'}  # the pictures decide
    for mine, theirs in zip(here, there):
        assert mine.chances == pytest.approx(theirs.chances, abs=1e-5)
        assert set(mine.chances) == {"A", "B"}


def test_chances_by_definition(folder: Path, pairs: list[Conversation]) -> None:
    """One forward pass over the question and the words before the verdict gives the distribution at its place."""
    local = LocalVlm(folder)
    [reply] = replies(local, pairs[:1])
    loaded = local.loaded
    inputs = loaded.inputs([local._messages(pairs[0])], 4)
    mark = torch.tensor([[loaded.tokenizer.convert_tokens_to_ids('"')]])
    for name, more in (("input_ids", mark), ("attention_mask", mark**0), ("mm_token_type_ids", mark * 0)):
        inputs[name] = torch.cat([inputs[name], more], dim=1)
    with torch.no_grad():
        chances = loaded.model(**inputs).logits[0, -1].log_softmax(-1)
    for option in "AB":
        expected = float(chances[loaded.tokenizer.convert_tokens_to_ids(option)])
        assert reply.chances[option] == pytest.approx(expected, abs=1e-4)


def test_batches_change_nothing(folder: Path, pairs: list[Conversation]) -> None:
    alone, together = replies(LocalVlm(folder), pairs), replies(LocalVlm(folder, batch=7), pairs)
    assert [one.text for one in alone] == [one.text for one in together]
    assert [one.tokens_in for one in alone] == [one.tokens_in for one in together]
    for mine, theirs in zip(alone, together):
        assert mine.chances == pytest.approx(theirs.chances, abs=1e-4)


def test_samples_hang_on_the_question_alone(folder: Path, pairs: list[Conversation]) -> None:
    warm = Decoding(max_tokens=6, temperature=1.5, seed=3)
    many = [pairs[0].model_copy(update={"decoding": warm, "sample": number}) for number in range(4)]
    state = torch.get_rng_state()
    forwards = replies(LocalVlm(folder, batch=3), many)
    backwards = replies(LocalVlm(folder), many[::-1])[::-1]
    assert [one.text for one in forwards] == [one.text for one in backwards]
    assert len({one.text for one in forwards}) > 1
    assert torch.equal(torch.get_rng_state(), state)  # nobody else's chance is touched


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_loads_and_answers(family: str, tmp_path: Path, pairs: list[Conversation]) -> None:
    endless = pairs[0].model_copy(update={"decoding": Decoding(max_tokens=3, temperature=50)})
    vlm = LocalVlm(build_tiny_vlm(tmp_path / family, family, planted=False))
    [reply] = replies(vlm, [endless])
    assert isinstance(reply, Reply)
    assert reply.tokens_in == vlm.tokens(endless)  # counted without a look at the pictures' pixels
    assert (reply.cut, reply.tokens_out, reply.model) == (True, 3, family)


def test_what_cannot_be_asked_is_recorded(folder: Path, pairs: list[Conversation], tmp_path: Path) -> None:
    (tmp_path / "torn.png").write_bytes(picture("x")[:60])
    torn = asked(Sight(item="torn", path=tmp_path / "torn.png"))
    endless = pairs[0].model_copy(update={"system": "so on and so forth " * 200})
    vlm = LocalVlm(folder, batch=3)
    broken, long, fine = replies(vlm, [torn, endless, pairs[0]])
    assert list(vlm.too_long([torn, endless, pairs[0]])) == [(1, long.reason)]  # known before anything is asked
    assert isinstance(broken, NoReply)
    assert broken.kind == "broken-image"
    assert isinstance(long, NoReply)
    assert long.kind == "too-long"
    assert "the model takes 512" in long.reason
    assert isinstance(fine, Reply)


def test_a_signature_of_the_weights(folder: Path, tmp_path: Path) -> None:
    other = build_tiny_vlm(tmp_path / "tiny", planted=False)
    assert LocalVlm(folder).signature == LocalVlm(folder, batch=4).signature
    assert LocalVlm(folder).signature.data != LocalVlm(other).signature.data


def test_weights_that_are_not_there(tmp_path: Path, pairs: list[Conversation]) -> None:
    with pytest.raises(MissingWeights, match="a VLM is needed"):
        replies(LocalVlm(tmp_path / "nothing"), pairs[:1])
    half = build_tiny_vlm(tmp_path / "half")
    cut_weights(half)
    with pytest.raises(MissingWeights, match="missing or of another shape"):
        replies(LocalVlm(half), pairs[:1])
    with pytest.raises(BadValue, match="dtype is one of"):
        LocalVlm(half, dtype="int3").signature  # noqa: B018


def cut_weights(folder: Path) -> None:
    from safetensors.torch import load_file, save_file

    path = folder / "model.safetensors"
    state = load_file(path)
    state.pop(next(name for name in state if "language_model.layers.1.mlp" in name))
    save_file(state, path, metadata={"format": "pt"})
