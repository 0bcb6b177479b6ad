"""salon distill: from a VLM's own comparisons to a scorer that needs one pass."""

from __future__ import annotations

import click

from salon.cli.later import LaterGroup

LATER: dict[str, tuple[str, str]] = {
    "label": ("salon.cli.distill_label:label", "Labels for items from a VLM's own answers, without any person."),
    "train": ("salon.cli.distill_train:train", "Train a VLM to score pictures in one pass, from labels."),
    "evaluate": ("salon.cli.distill_evaluate:evaluate", "Predicted scores against what people gave, with intervals."),
    "ablate": ("salon.cli.distill_ablate:ablate", "The same distillation with one setting changed at a time."),
}
"""Commands whose module is loaded when they are called, and what the list says of them."""


@click.group(cls=LaterGroup, later=LATER)
def distill() -> None:
    """Turn a VLM's comparisons into calibrated pseudo-scores, and train it to give them in one pass.

    \b
      salon distill label study -o labels --model openai:qwen@http://localhost:8000/v1
      salon distill train study --labels labels --vlm weights/Qwen3-VL-8B-Instruct -o scorer
      salon distill evaluate study --model scorer --html report.html
    """
