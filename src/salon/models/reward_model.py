"""A trained reward model in its folder, and in use.

MODEL/model.json            the card
MODEL/model.safetensors     the head (rm_head.0, .3, .5, as HPSv3 names it) and the tie parameter of a law with ties
MODEL/instruction.txt       what the VLM is asked; the head means nothing under another wording
MODEL/backbone/             the VLM, its tokenizer and picture processor, as transformers saves its own class
MODEL/README.md             the card in words

The backbone carries the names of weights that transformers and vLLM expect of its class, adapters merged into them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy.special import logit

from salon.errors import BadFile, MissingExtra, UnknownReference
from salon.models.cards import MODEL_CARD, MODEL_WEIGHTS, ModelCard, ModelScore
from salon.models.reward_network import BACKBONE, INSTRUCTION, RewardNetwork, RewardParts, open_parts
from salon.models.weights import best_device, find_file, read_state
from salon.stats import pair_probabilities, probit_win_chance, win_chance
from salon.store import read_json

try:
    import safetensors.torch
    import torch
except ImportError:  # pragma: no cover - the tests have it
    raise MissingExtra("models") from None

Floats = NDArray[np.float64]
BATCH = 8
"""Pictures looked at together."""
_SURE = 1e-15
"""Chances nearer to 0 or 1 than this are taken for it: their log-odds stay numbers."""


class RewardModel:
    """A reward model, loaded."""

    def __init__(self, card: ModelCard, parts: RewardParts, tie: float | None, *, device: str) -> None:
        self.card = card
        self.device = device
        self.network = parts.network.to(device).eval().requires_grad_(False)
        self.questions = parts.questions
        self._tie = tie
        self._names = {criterion.id: criterion.name for criterion in card.criteria}

    def scores(self, images: Sequence[Image.Image], texts: Sequence[str], criterion: str) -> list[ModelScore]:
        """mu and sigma of each picture with its prompt's text."""
        mu, sigma = self._qualities(images, texts, criterion)
        return [ModelScore(*pair) for pair in zip(mu.tolist(), sigma.tolist(), strict=True)]

    def pair_logits(
        self, a: Sequence[Image.Image], b: Sequence[Image.Image], texts: Sequence[str], criterion: str
    ) -> Floats:
        """Log-odds that the first picture of each pair is preferred, by the law the model was trained under."""
        return self.logits_between(*(self._qualities(images, texts, criterion) for images in (a, b)))

    def logits_between(self, a: tuple[Floats, Floats], b: tuple[Floats, Floats]) -> Floats:
        """The same from the mu and sigma of pictures that were looked at before."""
        (mu_a, sigma_a), (mu_b, sigma_b) = a, b
        return log_odds(self.card.form, mu_a - mu_b, np.hypot(sigma_a, sigma_b), self._tie)

    @torch.inference_mode()
    def _qualities(self, images: Sequence[Image.Image], texts: Sequence[str], criterion: str) -> tuple[Floats, Floats]:
        name = self._criterion_name(criterion)
        rows = []
        for start in range(0, len(images), BATCH):
            batch_images, batch_texts = images[start : start + BATCH], texts[start : start + BATCH]
            inputs = self.questions(batch_images, batch_texts, [name] * len(batch_images))
            quality = self.network({key: tensor.to(self.device) for key, tensor in inputs.items()})
            rows.append(torch.stack([quality.mu, quality.log_sigma.exp()]).double().cpu().numpy())
        mu, sigma = np.concatenate(rows, axis=1) if rows else np.zeros((2, 0))
        return mu, sigma

    def _criterion_name(self, criterion: str) -> str:
        if criterion not in self._names:
            raise UnknownReference(
                "a criterion that the model was trained on is needed",
                found=repr(criterion),
                where=f"model {self.card.name!r}",
                remedy=f"one of {', '.join(self._names)}",
            )
        return self._names[criterion]


def log_odds(law: str, m: Floats, v: Floats, tie: float | None = None) -> Floats:
    """Log-odds that the first of two pictures is preferred, a tie being half a win, at m = mu1 - mu2 and the spread
    v = sqrt(sigma1^2 + sigma2^2). The released law gives no probabilities; its model is read as the paper's."""
    if law in ("quadrature", "released"):
        chance = win_chance(m, v)
    elif law == "probit":
        chance = probit_win_chance(m, v)
    elif law == "ranknet":
        return np.asarray(m, np.float64)
    else:
        assert tie is not None  # a law with ties has its parameter
        parameter = float(np.exp(tie)) + (law == "rao-kupper")  # nu = e^tie, theta = 1 + e^tie
        first, tied, _ = pair_probabilities(law, m, parameter)
        chance = first + tied / 2
    values: Floats = logit(np.clip(chance, _SURE, 1 - _SURE))
    return values


def load_reward(path: str | Path, *, device: str | None = None) -> RewardModel:
    """The reward model in a folder."""
    folder = Path(path)
    place = find_file(folder, [MODEL_CARD], of="a trained model")
    card = ModelCard.parse(read_json(place, "a model's card in JSON is needed"), where=str(place))
    if card.kind != "reward":
        raise BadFile("a reward model is needed", found=f"a model of kind {card.kind!r}", where=str(folder))
    device = device or best_device()
    parts = open_parts(
        folder, pixels=card.settings.get("pixels") or None, dtype="float32" if device == "cpu" else "bfloat16"
    )
    extra = {name: tensor for name, tensor in read_state(folder / MODEL_WEIGHTS).items() if name.startswith("extra.")}
    tie = extra["extra.tie"].item() if extra else None
    return RewardModel(card, parts, tie, device=device)


def save_reward(folder: Path, card: ModelCard, readme: str, network: RewardNetwork, parts: RewardParts) -> None:
    """Fill a folder with a model; adapters must have been merged."""
    network.vlm.save_pretrained(folder / BACKBONE)
    parts.questions.processor.tokenizer.save_pretrained(folder / BACKBONE)
    parts.questions.processor.image_processor.save_pretrained(folder / BACKBONE)
    head = {name: tensor.detach().float().cpu().contiguous() for name, tensor in network.head_state().items()}
    safetensors.torch.save_file(head, folder / MODEL_WEIGHTS)
    (folder / INSTRUCTION).write_text(parts.questions.instruction, encoding="utf-8")
    (folder / "README.md").write_text(readme, encoding="utf-8")
    (folder / MODEL_CARD).write_text(json.dumps(card.record(), ensure_ascii=False, indent=2), encoding="utf-8")
