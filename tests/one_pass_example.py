"""A tiny Qwen3-VL that can be taught to answer one-pass questions, and pictures, the brighter the better."""

from __future__ import annotations

import shutil
import warnings
from pathlib import Path

import numpy as np
from PIL import Image
from red_study import study_in

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import torch
    import transformers
    from tiny_vlm import SPECIAL, TEMPLATE
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from salon.evaluate import PseudoScores, write_pseudo_scores
from salon.judge import OnePass
from salon.store import save_study
from salon.study import Criterion, Scale
from salon.train import DistillSettings
from salon.train.distill_validation import OnePassData, QuestionForm

ASKED = OnePass(criteria=(Criterion(id="q", scale=Scale(low=1, high=9)),), think=False, role="Rate.", decimals=0)
SMALL = DistillSettings(
    group=4, images=4, at_once=16, steps=2, lr=1e-3, max_tokens=12, think=False, pixels=1024, validate_every=1,
    save_every=1, beta=0.0, format_steps=50, format_lr=4e-3, format_batch=12,
)  # fmt: skip


FLOW = SMALL.model_copy(update={
    "format_steps": 0, "images": 4, "group": 2, "at_once": 8, "steps": 2, "max_tokens": 24, "train": 0.5,
    "validation": 0.25, "test": 0.25, "validate_every": 2, "role": "You rate posters.",
})  # fmt: skip
"""For `labelled_study`."""


def random_answer(rng: np.random.Generator) -> str:
    """The right form, and a score that means nothing."""
    return ASKED.answer(rng.integers(1, 10, size=1).tolist())


def bright_data(folder: Path, *, train: int = 8, validation: int = 4) -> OnePassData:
    """Grey pictures from dark to bright, brighter being better."""
    folder.mkdir(parents=True, exist_ok=True)
    count = train + validation
    quality = np.random.default_rng(5).permutation(np.linspace(0, 1, count))
    items = tuple(f"i{number}" for number in range(count))
    for item, value in zip(items, quality):
        Image.new("RGB", (32, 32), (int(20 + 215 * value),) * 3).save(folder / f"{item}.png")
    labels = PseudoScores(items, ("q",), 1 + 8 * quality[:, None], np.full((count, 1), 0.3), 1, 9, "bridge")
    asking = QuestionForm(lambda _: ASKED.question(), ASKED.read, random_answer)
    pictures = {item: folder / f"{item}.png" for item in items}
    return OnePassData(labels, pictures, asking, items[:train], items[train:], pixels=1024)


def labelled_study(place: Path):
    """A study of 24 items in place/study, with labels of mood and flag for all but one in place/labels."""
    study = study_in(place / "drawn", prompts=8)
    save_study(study, place / "study")
    shutil.copytree(place / "drawn" / "images", place / "study" / "images")
    items = tuple(study.ids("items").to_pylist()[:-1])
    values = np.random.default_rng(1).uniform(1, 5, (len(items), 2))
    labels = PseudoScores(items, ("mood", "flag"), values, np.full_like(values, 0.4), 1, 5, "bridge")
    write_pseudo_scores(place / "labels", labels)
    return study, labels


def build_speaker(folder: Path) -> Path:
    """A random Qwen3-VL whose tokenizer knows the words of the question."""
    tokenizer = _tokenizer()
    ids = {token: tokenizer.convert_tokens_to_ids(token) for token in SPECIAL}
    rope = {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [4, 2, 2], "mrope_interleaved": True}
    text = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4,
            "num_key_value_heads": 2, "head_dim": 16, "max_position_embeddings": 512, "bos_token_id": None,
            "eos_token_id": ids["<|im_end|>"], "pad_token_id": ids["<|endoftext|>"], "vocab_size": len(tokenizer),
            "rope_parameters": rope}  # fmt: skip
    vision = {"depth": 1, "num_heads": 4, "patch_size": 8, "hidden_size": 32, "intermediate_size": 64,
              "out_hidden_size": 64, "num_position_embeddings": 64, "deepstack_visual_indexes": [0]}  # fmt: skip
    config = transformers.Qwen3VLConfig(
        text_config=text, vision_config=vision, image_token_id=ids["<|image_pad|>"],
        video_token_id=ids["<|video_pad|>"], vision_start_token_id=ids["<|vision_start|>"],
        vision_end_token_id=ids["<|vision_end|>"],
    )  # fmt: skip
    torch.manual_seed(0)
    transformers.Qwen3VLForConditionalGeneration(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    size = {"shortest_edge": 16 * 16, "longest_edge": 32 * 32}
    transformers.Qwen2VLImageProcessorPil(patch_size=8, merge_size=2, size=size).save_pretrained(folder)
    return folder


def _tokenizer():
    tokenizer = Tokenizer(models.BPE())
    bytes_ = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), bytes_])
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=600, special_tokens=SPECIAL, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )  # fmt: skip
    tokenizer.train_from_iterator([ASKED.question(), "user\n", "assistant\n"] * 8 + [ASKED.answer([5])] * 200, trainer)
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token="<|im_end|>", pad_token="<|endoftext|>", chat_template=TEMPLATE
    )
