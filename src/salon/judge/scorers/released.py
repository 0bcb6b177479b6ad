"""Released scorers, loaded from a folder of the user's on current transformers.

Their own packages pin old libraries and are never imported; what is released is weights, and those are read here. What
each does to pictures and texts is in `models.peers`. Each function says in its card what the numbers mean.
docs/methods/scorers.md lists what each folder has to hold, and how far the numbers are from the peer's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, Protocol, overload

from PIL import Image

from salon.errors import BadValue, MissingExtra
from salon.judge.scoring import (
    MissingScore,
    PictureScorer,
    ScoreResult,
    ScorerInput,
    TextInput,
    finite_score,
    prompt_parts,
)
from salon.models import (
    BACKEND,
    PEERS,
    BlipReward,
    Clip,
    ClipCosine,
    ClipHead,
    ConditionedReward,
    CrossClip,
    QwenReward,
    Tensors,
    check_tensors,
    find_file,
    fingerprint,
)
from salon.study import Item, Prompt, ScorerCard, Setting, Signature

try:
    from torch import Tensor
except ImportError:  # pragma: no cover - the tests have it
    raise MissingExtra("models") from None

_HPS = ("HPS_v2.1_compressed.pt", "HPS_v2.1_compressed.safetensors")
_AESTHETIC = ("sac+logos+ava1-l14-linearMSE.pth", "sac+logos+ava1-l14-linearMSE.safetensors")
BATCH = 8
"""Pictures that a network looks at together unless told otherwise."""


class ReleasedNetwork(Protocol):
    """A network of `models` that gives numbers to pictures and their texts."""

    def scores(self, images: Sequence[Image.Image], texts: Sequence[str]) -> Sequence[float | tuple[float, float]]:
        """One number for each picture, or mu and sigma."""
        ...

    def tensor_scores(self, images: Tensors, texts: Sequence[str]) -> Tensor:
        """(pictures,), or (pictures, 2) for mu and sigma, with a gradient."""
        ...

    def refusal(self, width: int, height: int, text: str) -> str | None:
        """Why there is no number for a picture of this size with this text."""
        ...


class ReleasedScorer(PictureScorer):
    """A released scorer: of items as any scorer, and of tensors with a gradient."""

    def __init__(
        self, name: str, card: ScorerCard, signature: Signature, network: ReleasedNetwork, *, batch: int = BATCH
    ) -> None:
        super().__init__(name, card, signature, self._results, batch=batch)
        self.network = network

    @overload
    def score(
        self, items: Sequence[Item], prompts: Sequence[Prompt | None], *, differentiable: Literal[False] = False
    ) -> list[float | None]: ...

    @overload
    def score(
        self, items: Tensors, prompts: Sequence[Prompt | str | None] = (), *, differentiable: Literal[True]
    ) -> Tensor: ...

    def score(self, items: Any, prompts: Any = (), *, differentiable: bool = False) -> Any:
        """One number for each item, None where it could not be scored.

        With `differentiable`, `items` are pictures as tensors, (n, 3, height, width) or n of (3, height, width) with
        values from 0 to 1, and `prompts` their texts. The numbers come as a tensor (n,) with a gradient back to the
        pictures; the network's own weights are frozen. All pictures go through at once.
        """
        if not differentiable:
            return super().score(items, prompts)
        numbers = self._tensor_numbers(items, prompts)
        return numbers if numbers.ndim == 1 else numbers[:, 0]

    def score_with_sigma(self, images: Tensors, prompts: Sequence[Prompt | str | None]) -> tuple[Tensor, Tensor]:
        """The same with the sigma of a scorer that states one: two tensors (n,), both with a gradient."""
        numbers = self._tensor_numbers(images, prompts)
        if numbers.ndim == 1:
            raise BadValue("a scorer that states its own sigma is needed", found=self.name, remedy="hpsv3 does")
        return numbers[:, 0], numbers[:, 1]

    def _tensor_numbers(self, images: Tensors, prompts: Sequence[Prompt | str | None]) -> Tensor:
        check_tensors(images)
        texts = [self._text(prompt) for prompt in prompts] or [""] * len(images)
        reads = self.card.reads != "image"
        if len(texts) != len(images) or not len(images) or (reads and not len(prompts)):
            counts = f"{len(images)} pictures and {len(prompts)} prompts"
            raise BadValue("pictures, and a prompt for each, are needed", found=counts, where=self.name)
        for image, text in zip(images, texts, strict=True):
            reason = self.network.refusal(image.shape[2], image.shape[1], text)
            if reason is not None:
                raise BadValue("pictures and prompts that the network can read are needed", found=reason)
        return self.network.tensor_scores(images, texts)

    def _text(self, prompt: Prompt | str | None) -> str:
        if self.card.reads == "image":
            return ""
        if prompt is None:
            raise BadValue("a prompt is needed for each picture", found="none", where=self.name)
        return prompt if isinstance(prompt, str) else prompt.view(self.card.view)

    def _results(self, inputs: Sequence[ScorerInput]) -> list[ScoreResult]:
        reasons = [self.network.refusal(*picture.image.size, picture.text) for picture in inputs]
        able = [picture for picture, reason in zip(inputs, reasons, strict=True) if reason is None]
        numbers = iter(
            self.network.scores([picture.image for picture in able], [picture.text for picture in able]) if able else ()
        )
        results: list[ScoreResult] = []
        for reason in reasons:
            number = next(numbers) if reason is None else 0.0
            value, sigma = number if isinstance(number, tuple) else (number, None)
            results.append(finite_score(value, sigma, source="network") if reason is None else MissingScore(reason))
        return results


def clip_score(
    folder: str | Path, *, text: TextInput = "full", device: str | None = None, batch: int = BATCH
) -> ReleasedScorer:
    """100 max(cosine, 0) of picture and prompt in any CLIP of the hub's layout (Hessel et al. 2021)."""
    network = ClipCosine(Clip.load(folder, PEERS["clip"], device=device), as_clip_score=True)
    card = _card(text, "clip", low=0, high=100,
                 measures="How near picture and prompt are to CLIP.", licence="that of the CLIP used",
                 source="Hessel et al. 2021, CLIPScore")  # fmt: skip
    return _scorer("clip", card, folder, batch, network, pixels=network.rule.label)


def pickscore(
    folder: str | Path, *, text: TextInput = "full", device: str | None = None, batch: int = BATCH
) -> ReleasedScorer:
    """The logit that PickScore gives to a picture for its prompt."""
    network = ClipCosine(Clip.load(folder, PEERS["pickscore"], device=device))
    card = _card(text, "pickscore", is_logit=True,
                 measures="Which of two pictures of a prompt users of a web app kept.", licence="MIT",
                 source="Kirstain et al. 2023, Pick-a-Pic")  # fmt: skip
    return _scorer("pickscore", card, folder, batch, network, pixels=network.rule.label)


def hpsv2(
    folder: Path, *, text: TextInput = "full", device: str | None = None, batch: int = BATCH, published: bool = False
) -> ReleasedScorer:
    """HPS v2.1 from its open_clip weights; the whole picture is seen, on black.

    A fresh install of its package today resizes with antialias; `published` resizes as when it was published, without.
    """
    folder, peer = Path(folder), PEERS["hpsv2-published" if published else "hpsv2"]
    network = ClipCosine(Clip.load_open_clip(find_file(folder, _HPS, of="HPSv2.1"), folder, peer, device=device))
    card = _card(text, peer.name, is_logit=True,
                 measures="Which of two generated pictures paid raters chose.", licence="Apache-2.0",
                 source="Wu et al. 2023, HPSv2")  # fmt: skip
    name = "hpsv2.1-published" if published else "hpsv2.1"
    return _scorer(name, card, folder, batch, network, pixels=network.rule.label, cleaning="open_clip")


def hpsv2_published(folder: Path, **options: Any) -> ReleasedScorer:
    """HPS v2.1 under the torchvision of its publication."""
    return hpsv2(folder, published=True, **options)


def laion_aesthetic(folder: Path, *, device: str | None = None, batch: int = BATCH) -> ReleasedScorer:
    """LAION's aesthetic predictor V2: a head on the picture side of CLIP ViT-L/14."""
    folder = Path(folder)
    network = ClipHead.load(folder, find_file(folder, _AESTHETIC, of="LAION-Aesthetic-V2"), device=device)
    card = ScorerCard(measures="The mean rating from 1 to 10 that photographs and art like it were given.",
                      transform=PEERS["laion"].output,
                      licence="Apache-2.0", source="Schuhmann 2022, improved aesthetic predictor")  # fmt: skip
    return _scorer("laion-aesthetic", card, folder, batch, network, pixels=network.rule.label)


def image_reward(
    folder: Path, *, text: TextInput = "full", device: str | None = None, batch: int = BATCH
) -> ReleasedScorer:
    """ImageReward: BLIP with a head, standardised by its authors' mean and deviation."""
    network = BlipReward(Path(folder), device=device)
    card = _card(text, "imagereward", is_logit=True,
                 measures="How experts ranked pictures of one prompt.", licence="Apache-2.0",
                 source="Xu et al. 2023, ImageReward")  # fmt: skip
    return _scorer("imagereward", card, folder, batch, network, pixels=network.rule.label)


def mps(folder: Path, *, text: TextInput = "full", device: str | None = None, batch: int = BATCH) -> ReleasedScorer:
    """MPS under the condition in its folder (overall, aesthetics, semantics or detail)."""
    network = CrossClip(Path(folder), device=device)
    card = _card(text, "mps", is_logit=True,
                 measures="Which of two pictures raters preferred under the condition.", licence="see its release",
                 source="Zhang et al. 2024, Multi-dimensional Preference Score")  # fmt: skip
    return _scorer("mps", card, folder, batch, network, pixels=network.rule.label)


def hpsv3(
    folder: Path,
    *,
    text: TextInput = "full",
    device: str | None = None,
    batch: int = BATCH,
    instruction: str | Path | None = None,
    other_instruction: bool = False,
) -> ReleasedScorer:
    """HPSv3: mu of a Qwen2-VL with a head, and the sigma it gives beside it.

    `instruction` names a file to read in place of the folder's; `other_instruction` takes a text that is not HPSv3's.
    """
    network = QwenReward(Path(folder), device=device, instruction=instruction, accept_other=other_instruction)
    question, peer = network.instruction, PEERS["hpsv3"]
    card = _card(text, "hpsv3", is_logit=True, notes=() if question.note is None else (question.note,),
                 measures="Which of two pictures raters preferred, over photographs and many generators.",
                 licence="MIT; Qwen2-VL's own for the network below", source="Ma et al. 2025, HPSv3")  # fmt: skip
    return _scorer("hpsv3", card, folder, batch, network, pixels=peer.pictures.label, positions=peer.positions,
                   instruction=question.label)  # fmt: skip


def hpsv3_plus(
    folder: Path,
    *,
    text: TextInput = "full",
    device: str | None = None,
    batch: int = BATCH,
    instruction: str | Path | None = None,
    other_instruction: bool = False,
    step: float = 0.0,
) -> ReleasedScorer:
    """HPSv3++: mu of a Qwen3-VL, conditioned on the generator's capability and on the progress of RL, and its sigma.

    `step` is the progress from 0 to 1. Each picture's capability is judged alone.
    """
    network = ConditionedReward(
        Path(folder), device=device, instruction=instruction, accept_other=other_instruction, step=step
    )
    question, peer = network.instruction, PEERS["hpsv3++"]
    card = _card(text, "hpsv3++", is_logit=True, notes=() if question.note is None else (question.note,),
                 measures="Which of two pictures raters preferred, from early generators to those trained by RL.",
                 licence="see its release; Qwen3-VL's own for the network below",
                 source="Liu et al. 2026, HPSv3++")  # fmt: skip
    return _scorer("hpsv3++", card, folder, batch, network, pixels=peer.pictures.label, positions=peer.positions,
                   instruction=question.label, step=step)  # fmt: skip


def _card(text: TextInput, peer: str, **fields: Any) -> ScorerCard:
    return ScorerCard(reads="image and prompt", view=prompt_parts(text), transform=PEERS[peer].output, **fields)


def _scorer(
    name: str, card: ScorerCard, place: str | Path, batch: int, network: ReleasedNetwork, **more: Setting
) -> ReleasedScorer:
    local = Path(place).exists()
    settings = {"weights": Path(place).name if local else str(place), "backend": BACKEND,
                "text": "+".join(card.view) or ("all" if card.reads != "image" else None), **more}  # fmt: skip
    signature = Signature(method=name, data=fingerprint(place), settings=settings)
    return ReleasedScorer(name, card, signature, network, batch=batch)
