"""Small posters with one planted flaw, the labels that a noisy judge gives them, and a tiny VLM that has seen nothing.

The posters are drawn by the built-in house `proof` for built-in briefs that ask for orange and navy. One flaw is
planted, `wrong-color`, with a strength drawn between 0 and 1: all hues turned away from those asked for, towards pink.
So color accuracy is known for each, and it shows all over the picture: what is tested is whether the training learns,
not how well a network of few weights sees.
"""

from __future__ import annotations

import io
import itertools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from numpy.typing import NDArray
from PIL import Image
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from salon.evaluate import LabelCard, PseudoScores, write_pseudo_scores
from salon.fuse import BridgeSettings
from salon.fuse.bridge import run_bridge
from salon.fuse.bridge_simulation import SimulatedJudge
from salon.generate import builtin_briefs
from salon.generate.houses import HOUSES
from salon.judge import OnePass
from salon.models import LoadedVlm, picture_chat
from salon.render import brief_prompt, chance, draw_poster, paint_png
from salon.store import save_study
from salon.study import Criterion, Item, Scale, Study
from salon.train.distillation import one_pass_form

Floats = NDArray[np.float64]
CRITERION = "taste/color-accuracy"
SIDE = 96
SPREAD, TIES, LAPSES = 2.5, 0.2, 0.1
"""Of the simulated judge: sharpness in logits, chance of a tie between equals, share of answers at random."""
POOL, OPPONENTS = 24, 8
TAUGHT_RATE = 2e-3
_BARE = dict.fromkeys(("subhead", "body", "when", "where", "cta", "brand"))
_SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>", "<|vision_pad|>"]
_SPECIAL += ["<|image_pad|>", "<|video_pad|>"]
_TEMPLATE = (
    "{%- for m in messages -%}<|im_start|>{{ m.role }}\n{%- if m.content is string -%}{{ m.content }}"
    "{%- else -%}{%- for c in m.content -%}{%- if c.type == 'image' -%}<|vision_start|><|image_pad|><|vision_end|>"
    "{%- elif 'text' in c -%}{{ c.text }}{%- endif -%}{%- endfor -%}{%- endif -%}"
    "<|im_end|>\n{%- endfor -%}{%- if add_generation_prompt -%}<|im_start|>assistant\n{%- endif -%}"
)


@dataclass(frozen=True)
class Hued:
    """A study of posters, and what they are truly worth."""

    folder: Path
    study: Study
    truth: dict[str, float]
    """True quality by item, 0 to 1."""


def hued_study(folder: Path, count: int, *, seed: int = 0) -> Hued:
    """`count` posters, each for a brief of its own as far as there are briefs."""
    rng = np.random.default_rng([seed, 3])
    seeds = (n for n in itertools.count() if chance(n, "wrong-color").random() >= 0.5)  # those that turn to pink
    briefs, prompts, items, truth, painted = builtin_briefs(), {}, [], {}, {}
    for number in range(count):
        plain = briefs[(7 * number) % len(briefs)]
        brief = plain.model_copy(update={"palette": ("orange", "navy"), "style": "Minimalist", **_BARE})
        prompts[brief.id] = brief_prompt(brief)
        knobs = {"wrong-color": max(float(rng.uniform()), 0.001)}
        poster = draw_poster(brief, HOUSES["proof"].habits, seed=next(seeds), knobs=knobs, width=SIDE, height=SIDE)
        layout, id = poster.layout, f"poster-{number:03d}"
        painted[id] = paint_png(poster.layers, layout.width, layout.height)
        items.append(Item(id=id, prompt=brief.id, generator="proof+wrong-color", image=f"images/{id}.png"))
        truth[id] = layout.quality[CRITERION]
    criterion = Criterion(id=CRITERION, name="Color accuracy", scale=Scale(low=1, high=5))
    tables = {"prompts": list(prompts.values()), "items": items}
    study = Study.build("hued", [criterion], tables=tables, compare_within="all", simulated=True)
    save_study(study, folder)
    (folder / "images").mkdir()
    for id, picture in painted.items():
        (folder / "images" / f"{id}.png").write_bytes(picture)
    return Hued(folder, study, truth)


def judged_labels(hued: Hued, place: Path, *, seed: int, shuffled: bool = False) -> Floats:
    """Pseudo-scores by the bridge from a simulated judge who is often wrong; given back as an array, as written.

    `shuffled` deals the same values out to other items: the control.
    """
    items = tuple(hued.truth)
    true = np.array([hued.truth[item] for item in items])
    rng = np.random.default_rng([seed, 4])
    judge = SimulatedJudge(SPREAD * (true - true.mean()) / true.std(), 2 * TIES / (1 - TIES), LAPSES, rng)
    asked = BridgeSettings(pool=POOL, opponents=OPPONENTS, seed=seed)
    run = run_bridge(items, judge, asked, criteria=(CRITERION,))
    rows = {row.item: row for row in run.report.rows}
    values = np.array([[rows[item].value] for item in items])
    calls = len(run.answers)
    if shuffled:
        values = rng.permutation(values)
    card = LabelCard(
        source="bridge", items=len(items), labelled=len(items), criteria=(CRITERION,), low=1, high=5,
        calls_planned=calls, calls_made=calls, study=hued.study.name, data=hued.study.hash[:12], simulated=True,
        judge="simulated", signature=f"bridge simulated seed {seed}{' shuffled' if shuffled else ''}",
    )  # fmt: skip
    made = PseudoScores(items, (CRITERION,), values, np.full_like(values, np.nan), 1, 5, "bridge", card=card)
    write_pseudo_scores(place, made)
    return values[:, 0]


def tiny_speaker(folder: Path, hued: Hued, labels: PseudoScores, *, seed: int) -> Path:
    """A random Qwen3-VL of about 0.36 million weights whose tokenizer knows the words of the question."""
    form = one_pass_form(hued.study, labels, think=False)
    tokenizer = _tokenizer([form.question(), form.answer([3.25])])
    ids = {token: tokenizer.convert_tokens_to_ids(token) for token in _SPECIAL}
    rope = {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [4, 2, 2], "mrope_interleaved": True}
    text = {
        "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4,
        "num_key_value_heads": 2, "head_dim": 16, "max_position_embeddings": 512, "bos_token_id": None,
        "eos_token_id": ids["<|im_end|>"], "pad_token_id": ids["<|endoftext|>"], "vocab_size": len(tokenizer),
        "rope_parameters": rope, "initializer_range": 0.05,
    }  # fmt: skip
    vision = {
        "depth": 1, "num_heads": 4, "patch_size": 8, "hidden_size": 64, "intermediate_size": 128, "out_hidden_size": 64,
        "num_position_embeddings": 64, "deepstack_visual_indexes": [0], "initializer_range": 0.1,
    }  # fmt: skip
    config = transformers.Qwen3VLConfig(
        text_config=text, vision_config=vision, image_token_id=ids["<|image_pad|>"],
        video_token_id=ids["<|video_pad|>"], vision_start_token_id=ids["<|vision_start|>"],
        vision_end_token_id=ids["<|vision_end|>"],
    )  # fmt: skip
    config.initializer_range = 0.05
    torch.manual_seed(seed)
    transformers.Qwen3VLForConditionalGeneration(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    size = {"shortest_edge": 16 * 16, "longest_edge": 32 * 32}
    transformers.Qwen2VLImageProcessorPil(patch_size=8, merge_size=2, size=size).save_pretrained(folder)
    return folder


def taught(vlm: Path, folder: Path, form: OnePass, *, seed: int, steps: int) -> Path:
    """The VLM after supervised steps on another question about other posters: how light is it? In the right form.

    Turning a hue keeps its lightness, so this says nothing about color accuracy; but the model has learned to answer,
    and to look. Answers are blurred, so that it is never sure.
    """
    pictures, light = _other_posters()
    spread = (np.argsort(np.argsort(light)) + 0.5) / len(light)
    loaded, rng = LoadedVlm(str(vlm), dtype="float32"), np.random.default_rng([seed, 5])
    loaded.model.train()
    optimizer = torch.optim.AdamW(loaded.model.parameters(), lr=TAUGHT_RATE, weight_decay=0.0)
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = TAUGHT_RATE * min(1, (step + 1) / 5) * (1 - 0.9 * step / steps)
        chosen = rng.integers(len(pictures), size=16)
        scores = np.clip(1 + 4 * (spread[chosen] + rng.normal(0, 0.2, 16)), 1, 5)
        chats = [picture_chat(pictures[n], form.question()) for n in chosen]
        loss = loaded.model(**_answered(loaded, chats, [form.answer([float(one)]) for one in scores])).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(loaded.model.parameters(), 1.0)
        optimizer.step()
    loaded.model.save_pretrained(folder)
    loaded.processor.tokenizer.save_pretrained(folder)
    loaded.processor.image_processor.save_pretrained(folder)
    return folder


def _other_posters(count: int = 120) -> tuple[list[Image.Image], Floats]:
    """Flawless posters in the colors of the built-in palettes, and how light they are."""
    pictures = []
    for number, brief in enumerate(builtin_briefs()[:count]):
        bare = brief.model_copy(update={"style": "Minimalist", **_BARE})
        poster = draw_poster(bare, HOUSES["proof"].habits, seed=10_000 + number, width=SIDE, height=SIDE)
        file = paint_png(poster.layers, poster.layout.width, poster.layout.height)
        pictures.append(Image.open(io.BytesIO(file)).convert("RGB").resize((32, 32), Image.Resampling.BOX))
    return pictures, np.array([np.asarray(one.convert("L"), float).mean() for one in pictures])


def _answered(vlm: LoadedVlm, chats: list[Any], answers: list[str]) -> dict[str, Any]:
    """Chats with an answer behind each, all of one length; only the answer is learned."""
    inputs = dict(vlm.inputs(chats, 0))
    said = [[*vlm.tokenizer(one, add_special_tokens=False)["input_ids"], vlm.tokenizer.eos_token_id] for one in answers]
    longest = max(map(len, said))
    answer = torch.tensor([ids + [vlm.tokenizer.pad_token_id] * (longest - len(ids)) for ids in said])
    real = torch.tensor([[1] * len(ids) + [0] * (longest - len(ids)) for ids in said])
    inputs["labels"] = torch.cat([torch.full_like(inputs["input_ids"], -100), answer.masked_fill(real == 0, -100)], 1)
    inputs["input_ids"] = torch.cat([inputs["input_ids"], answer], dim=1)
    inputs["attention_mask"] = torch.cat([inputs["attention_mask"], real], dim=1)
    for name in ("token_type_ids", "mm_token_type_ids"):
        if name in inputs:
            inputs[name] = torch.cat([inputs[name], torch.zeros_like(answer)], dim=1)
    return inputs


def _tokenizer(texts: list[str]) -> transformers.PreTrainedTokenizerFast:
    """Byte pairs that make one token of most of the question; digits stand alone."""
    tokenizer = Tokenizer(models.BPE())
    whole = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), whole])
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=900, special_tokens=_SPECIAL, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator([*texts, "user\n", "assistant\n"] * 20, trainer)
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token="<|im_end|>", pad_token="<|endoftext|>", chat_template=_TEMPLATE
    )


def shown(hued: Hued, count: int) -> Image.Image:
    """A strip of posters, worst to best."""
    order = sorted(hued.truth, key=lambda item: hued.truth[item])
    chosen = [order[round(n)] for n in np.linspace(0, len(order) - 1, count)]
    strip = Image.new("RGB", (SIDE * count, SIDE))
    for place, item in enumerate(chosen):
        file = (hued.folder / "images" / f"{item}.png").read_bytes()
        strip.paste(Image.open(io.BytesIO(file)), (place * SIDE, 0))
    return strip
