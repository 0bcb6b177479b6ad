"""A VLM in this process, by local folder or hub name: any model that transformers loads as image and text to text.

Its words are chosen greedily, or sampled from the plain distribution at one temperature: what a checkpoint says about
top-p, top-k or repetition penalties is set aside, so that two models differ by their weights and not by such habits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from salon.errors import BadValue, MissingExtra
from salon.models.weights import best_device, load_from_hub, load_network

try:
    import torch
    from transformers import (
        AutoImageProcessor,
        AutoModelForImageTextToText,
        AutoProcessor,
        AutoTokenizer,
        GenerationConfig,
        LogitsProcessor,
        LogitsProcessorList,
        Qwen2_5_VLProcessor,
        Qwen2VLProcessor,
        Qwen3VLProcessor,
    )
except ImportError:  # pragma: no cover - the tests have it
    raise MissingExtra("models") from None

DTYPES = ("auto", "float32", "bfloat16", "float16", "saved")
Messages = list[dict[str, Any]]
"""A chat: roles and contents, pictures as PIL images under `image`."""


def resolve_device(device: str, dtype: str) -> tuple[str, str]:
    """Where and how exactly a model runs: `auto` is the best device there is, full precision on a CPU, and what the
    checkpoint was saved with elsewhere; `saved` is that on a CPU too."""
    if dtype not in DTYPES:
        raise BadValue(f"dtype is one of {', '.join(DTYPES)}", found=dtype)
    device = best_device() if device == "auto" else device
    if dtype == "saved":
        return device, "auto"  # transformers' word for it
    return device, "float32" if dtype == "auto" and device == "cpu" else dtype


class ContextTooLong(Exception):
    """Some chats of a batch are over the context limit; `rows` says which, `reason` in words."""

    def __init__(self, rows: Sequence[int], reason: str) -> None:
        self.rows, self.reason = set(rows), reason
        super().__init__(reason)


@dataclass(frozen=True)
class VlmAnswer:
    """One answer of the model."""

    text: str
    cut: bool
    """Whether the token limit ended it."""
    tokens_in: int
    tokens_out: int
    tokens: list[tuple[bytes, Mapping[bytes, float]]] = field(repr=False)
    """Each token's text, with the log-probability that each of the watched tokens had in its place."""


class LoadedVlm:
    """Weights and processor, ready to answer."""

    def __init__(self, source: str | Path, *, device: str = "auto", dtype: str = "auto") -> None:
        self.source = str(source)
        self.device, dtype = resolve_device(device, dtype)
        load = AutoModelForImageTextToText.from_pretrained
        self.model = load_network(load, self.source, what="a VLM", dtype=dtype, use_safetensors=True).to(self.device)
        self.processor = vlm_processor(self.source, self.model.config.model_type)
        self.tokenizer = self.processor.tokenizer
        self.tokenizer.padding_side = "left"

    @classmethod
    def around(cls, model: Any, processor: Any) -> LoadedVlm:
        """A network that is in memory already, one in training for instance, where it is."""
        loaded = cls.__new__(cls)
        loaded.source, loaded.device = str(model.config.name_or_path), str(model.device)
        loaded.model, loaded.processor, loaded.tokenizer = model, processor, processor.tokenizer
        loaded.tokenizer.padding_side = "left"
        return loaded

    @cached_property
    def vocabulary(self) -> list[bytes]:
        """The text of every token; empty for special ones, which no answer shows."""
        ids = range(len(self.tokenizer))
        special = set(self.tokenizer.all_special_ids)
        names = self.tokenizer.convert_ids_to_tokens(list(ids))
        texts = self.tokenizer.batch_decode([[id] for id in ids])
        token_texts = [
            b""
            if id in special
            else (f" {text}" if name.startswith("▁") and not text.startswith(" ") else text).encode()
            for id, name, text in zip(ids, names, texts)
        ]
        return token_texts + [b""] * (
            self.model.get_output_embeddings().weight.shape[0] - len(token_texts)
        )  # padding of the layer

    @torch.inference_mode()
    def say(
        self,
        chats: Sequence[Messages],
        *,
        max_tokens: int,
        temperature: float = 0.0,
        seed: int = 0,
        watched: Sequence[int] = (),
    ) -> list[VlmAnswer]:
        """The model's answers, all in one batch. `watched` are tokens whose chances are wanted at every place."""
        inputs = self.inputs(chats, max_tokens)
        watch = _TokenWatcher(torch.tensor(watched, device=self.device), temperature or 1.0)
        with torch.random.fork_rng(devices=([self.device] if self.device.startswith("cuda") else [])):
            torch.manual_seed(seed)
            generated = self.model.generate(
                **inputs,
                generation_config=self._plan(max_tokens, temperature),
                logits_processor=LogitsProcessorList([watch]),
                synced_gpus=False,  # the weights are whole here; processes that train together ask unequally often
            )
        read = inputs["input_ids"].shape[1]
        lengths = inputs["attention_mask"].sum(dim=1).tolist()
        return [
            self._answer(row[read:], length, watch, number)
            for number, (row, length) in enumerate(zip(generated, lengths))
        ]

    def inputs(self, chats: Sequence[Messages], max_tokens: int) -> Any:
        """Everything the network reads, padded on the left; ContextTooLong when that leaves no space for an answer."""
        inputs = self.processor.apply_chat_template(
            list(chats),
            tokenize=True,
            add_generation_prompt=True,
            return_dict=True,
            return_tensors="pt",
            processor_kwargs={"padding": True},
        ).to(self.device)
        limit = getattr(self.model.config.get_text_config(), "max_position_embeddings", None)
        lengths = inputs["attention_mask"].sum(dim=1).tolist()
        over = [row for row, length in enumerate(lengths) if limit is not None and length + max_tokens > limit]
        if over:
            longest = max(lengths[row] for row in over)
            raise ContextTooLong(
                over, f"{longest:,} tokens and {max_tokens:,} for the answer; the model takes {limit:,}"
            )
        return inputs

    def _plan(self, max_tokens: int, temperature: float) -> GenerationConfig:
        sampled = {"temperature": temperature, "top_k": 0} if temperature else {}
        return GenerationConfig(
            max_new_tokens=max_tokens,
            do_sample=bool(temperature),
            **{"temperature": 1.0, "top_k": 50} | sampled,  # of greedy decoding the library's own, which it ignores
            top_p=1.0,
            repetition_penalty=1.0,
            eos_token_id=self._ends,
            pad_token_id=self.tokenizer.pad_token_id if self.tokenizer.pad_token_id is not None else self._ends[0],
        )

    @cached_property
    def _ends(self) -> list[int]:
        """Tokens that end an answer, by the checkpoint and by its tokenizer."""
        stated = getattr(self.model.generation_config, "eos_token_id", None)
        ends = stated if isinstance(stated, list) else [stated]
        return sorted({end for end in [*ends, self.tokenizer.eos_token_id] if end is not None})

    def _answer(self, generated: Any, length: int, watch: _TokenWatcher, row: int) -> VlmAnswer:
        ids = generated.tolist()
        end = next((place for place, id in enumerate(ids) if id in self._ends), None)
        spoken = ids if end is None else ids[:end]
        likely = [watch.chances(place, row, self.vocabulary) for place in range(len(spoken))] if watch.on else []
        return VlmAnswer(
            text=self.tokenizer.decode(spoken, skip_special_tokens=True),
            cut=end is None,
            tokens_in=length,
            tokens_out=len(spoken) + (end is not None),
            tokens=[(self.vocabulary[id], chances) for id, chances in zip(spoken, likely)],
        )


class _TokenWatcher(LogitsProcessor):
    """Notes the log-probabilities of some tokens at every step, and changes nothing."""

    def __init__(self, ids: torch.Tensor, temperature: float) -> None:
        self.ids = ids
        self.on = bool(ids.numel())
        self._temperature = temperature
        self._steps: list[torch.Tensor] = []

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        if self.on:
            plain = scores.float() * self._temperature  # what the network said, before it was warmed or cooled
            self._steps.append(plain.log_softmax(dim=-1)[:, self.ids].cpu())
        return scores

    def chances(self, place: int, row: int, vocabulary: Sequence[bytes]) -> dict[bytes, float]:
        """The watched tokens' log-probabilities at one place, by their text."""
        chances: dict[bytes, float] = {}
        for id, value in zip(self.ids.tolist(), self._steps[place][row].tolist()):
            text = vocabulary[id]
            if math.isfinite(value):
                chances[text] = value if text not in chances else math.log(math.exp(chances[text]) + math.exp(value))
        return chances


def _image_only(kind: type) -> type:
    """A processor without videos, whose part would need torchvision; transformers reads its parts off `__init__`."""

    def __init__(self: Any, image_processor: Any = None, tokenizer: Any = None, chat_template: Any = None) -> None:
        kind.__init__(self, image_processor, tokenizer, None, chat_template=chat_template)  # type: ignore[misc]  # a class that transformers chose

    return type(f"ImageOnly{kind.__name__}", (kind,), {"__init__": __init__, "__module__": __name__})


_PROCESSORS = {
    "qwen2_vl": _image_only(Qwen2VLProcessor),
    "qwen2_5_vl": _image_only(Qwen2_5_VLProcessor),
    "qwen3_vl": _image_only(Qwen3VLProcessor),
    "qwen3_vl_moe": _image_only(Qwen3VLProcessor),
}


def vlm_processor(source: str, family: str) -> Any:
    """What turns chats with pictures into what the network reads; without videos for the Qwens."""
    kind = _PROCESSORS.get(family)
    if kind is None:
        return load_from_hub(AutoProcessor.from_pretrained, source, what="a VLM's processor")
    tokenizer = load_from_hub(AutoTokenizer.from_pretrained, source, what="a VLM's tokenizer")
    pictures = load_from_hub(AutoImageProcessor.from_pretrained, source, what="a VLM's picture processor")
    return kind(pictures, tokenizer, tokenizer.chat_template)
