"""A brief supervised stage on the form of an answer alone: scores are drawn at random, without regard to the image.

It teaches nothing about quality, only how to answer. A released VLM does not need it; a model that never keeps the form
has no answer that could be rewarded, and GRPO no difference to learn from. The weights are written to RUN/format, from
where training begins; the divergence from the model as it began is then from this one.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from salon.errors import MissingExtra
from salon.models.lora import linear_layers
from salon.models.one_pass import chat
from salon.models.vlm import LoadedVlm
from salon.store.atomic import whole_folder
from salon.train.distill_data import OnePassData
from salon.train.distill_settings import DistillSettings

try:
    import torch
    from peft import LoraConfig, get_peft_model
except ImportError:  # pragma: no cover - the tests have it
    raise MissingExtra("distill") from None

FORMAT = "format"


def learn_format(
    model: str,
    data: OnePassData,
    settings: DistillSettings,
    run: Path,
    *,
    progress: Callable[[int, int, float], None] = lambda step, steps, loss: None,
) -> Path:
    """Train `model` on the form of answers and write it to RUN/format; done once, a run that goes on finds it there."""
    place = run / FORMAT
    if place.is_dir():
        return place
    vlm = LoadedVlm(model, dtype="float32")
    rng = np.random.default_rng([settings.seed, settings.format_steps])
    with torch.random.fork_rng(devices=[vlm.device] if vlm.device.startswith("cuda") else []):
        torch.manual_seed(settings.seed)
        learner = with_adapters(vlm.model, settings) if settings.learn == "lora" else vlm.model
        learner.train()
        weights = [parameter for parameter in learner.parameters() if parameter.requires_grad]
        optimizer = torch.optim.AdamW(weights, lr=settings.format_lr, weight_decay=0.0)
        for step in range(settings.format_steps):
            optimizer.param_groups[0]["lr"] = settings.format_lr * _rate(step, settings.format_steps)
            loss = learner(**_batch(vlm, data, settings, rng)).loss
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(weights, settings.clip)
            optimizer.step()
            progress(step + 1, settings.format_steps, float(loss.detach()))
    whole = learner.merge_and_unload() if settings.learn == "lora" else learner
    with whole_folder(place) as folder:
        save_vlm(whole, vlm.processor, folder)
    return place


def with_adapters(vlm: Any, settings: DistillSettings) -> Any:
    """`vlm` with new low-rank adapters, all else frozen."""
    return get_peft_model(vlm, adapters(vlm, settings))


def adapters(vlm: Any, settings: DistillSettings) -> LoraConfig:
    """Where adapters go, and how large they are."""
    return LoraConfig(
        r=settings.lora_rank,
        lora_alpha=settings.lora_alpha,
        lora_dropout=settings.lora_dropout,
        target_modules=linear_layers(vlm, settings.lora_on),
    )


def save_vlm(model: Any, processor: Any, folder: Path) -> None:
    """A VLM with what it reads by, in transformers' layout."""
    model.save_pretrained(folder)
    processor.tokenizer.save_pretrained(folder)
    processor.image_processor.save_pretrained(folder)


def _rate(step: int, steps: int) -> float:
    """Up over five steps, then down to a tenth."""
    return min(1.0, (step + 1) / 5) * (1 - 0.9 * step / steps)


def _batch(vlm: LoadedVlm, data: OnePassData, settings: DistillSettings, rng: np.random.Generator) -> dict[str, Any]:
    """Chats with an answer behind each; only the answer is learned."""
    items = [data.train[number] for number in rng.integers(len(data.train), size=settings.format_batch)]
    inputs = dict(vlm.inputs([chat(data.picture(item), data.asking.question(item)) for item in items], 0))
    end = vlm.tokenizer.eos_token_id
    said = [[*vlm.tokenizer(data.asking.random_answer(rng), add_special_tokens=False)["input_ids"], end] for _ in items]
    longest = max(map(len, said))
    pad = vlm.tokenizer.pad_token_id if vlm.tokenizer.pad_token_id is not None else end
    answer = torch.tensor([ids + [pad] * (longest - len(ids)) for ids in said], device=vlm.device)
    real = torch.tensor([[1] * len(ids) + [0] * (longest - len(ids)) for ids in said], device=vlm.device)
    before = torch.full_like(inputs["input_ids"], -100)
    inputs["labels"] = torch.cat([before, answer.masked_fill(real == 0, -100)], dim=1)
    inputs["input_ids"] = torch.cat([inputs["input_ids"], answer], dim=1)
    inputs["attention_mask"] = torch.cat([inputs["attention_mask"], real], dim=1)
    for name in ("token_type_ids", "mm_token_type_ids"):
        if name in inputs:
            inputs[name] = torch.cat([inputs[name], torch.zeros_like(answer)], dim=1)
    return inputs
