"""Released scorers, loaded from a folder of the user's on current transformers.

Their own packages pin old libraries and are never imported; what is released is weights, and those are read here. Each
function says in its card what the numbers mean. docs/methods/scorers.md lists what each folder has to hold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from salon.judge.scorers.picture import PictureScorer, Result, Scored, Shown, TextInput, Unscored, parts_read
from salon.models.blip_reward import BlipReward
from salon.models.clip import BACKEND, Clip
from salon.models.cross_clip import CrossClip
from salon.models.heads import linear_stack
from salon.models.qwen_reward import QwenReward
from salon.models.weights import fingerprint, first_there, read_state
from salon.study.scorer import ScorerCard
from salon.study.signature import Signature

Numbers = Callable[[Sequence[Shown]], Sequence[float | tuple[float, float]]]
_HPS = ("HPS_v2.1_compressed.pt", "HPS_v2.1_compressed.safetensors")
_AESTHETIC = ("sac+logos+ava1-l14-linearMSE.pth", "sac+logos+ava1-l14-linearMSE.safetensors")


def clip_score(
    folder: str | Path, *, text: TextInput = "full", device: str | None = None, batch: int = 8
) -> PictureScorer:
    """100 max(cosine, 0) of picture and prompt in any CLIP of the hub's layout (Hessel et al. 2021)."""
    clip = Clip.load(folder, device=device)
    card = _card(text, low=0, high=100, transform="100 max(cos, 0)",
                 measures="How near picture and prompt are to CLIP.", licence="that of the CLIP used",
                 source="Hessel et al. 2021, CLIPScore")  # fmt: skip
    return _scorer("clip", card, folder, batch, lambda shown: [100 * max(0.0, one) for one in _cosines(clip, shown)])


def pickscore(
    folder: str | Path, *, text: TextInput = "full", device: str | None = None, batch: int = 8
) -> PictureScorer:
    """The logit that PickScore gives to a picture for its prompt."""
    clip = Clip.load(folder, device=device)
    card = _card(text, is_logit=True, transform="exp(logit scale) cos",
                 measures="Which of two pictures of a prompt users of a web app kept.", licence="MIT",
                 source="Kirstain et al. 2023, Pick-a-Pic")  # fmt: skip
    return _scorer("pickscore", card, folder, batch, lambda shown: [clip.scale * one for one in _cosines(clip, shown)])


def hpsv2(folder: Path, *, text: TextInput = "full", device: str | None = None, batch: int = 8) -> PictureScorer:
    """HPS v2.1 from its open_clip weights; the whole picture is seen, on black."""
    folder = Path(folder)
    clip = Clip.load_open_clip(first_there(folder, _HPS, of="HPSv2.1"), folder, fit="pad", device=device)
    card = _card(text, is_logit=True, transform="exp(logit scale) cos: 100 times the released number",
                 measures="Which of two generated pictures paid raters chose.", licence="Apache-2.0",
                 source="Wu et al. 2023, HPSv2")  # fmt: skip
    return _scorer("hpsv2.1", card, folder, batch, lambda shown: [clip.scale * one for one in _cosines(clip, shown)])


def laion_aesthetic(folder: Path, *, device: str | None = None, batch: int = 8) -> PictureScorer:
    """LAION's aesthetic predictor V2: a head on the picture side of CLIP ViT-L/14."""
    folder = Path(folder)
    clip = Clip.load(folder, device=device)
    weights = first_there(folder, _AESTHETIC, of="LAION-Aesthetic-V2")
    head = linear_stack(read_state(weights), where=str(weights))
    card = ScorerCard(measures="The mean rating from 1 to 10 that photographs and art like it were given.",
                      licence="Apache-2.0", source="Schuhmann 2022, improved aesthetic predictor")  # fmt: skip

    def look(shown: Sequence[Shown]) -> list[float]:
        return head(clip.images([one.image for one in shown])).squeeze(-1).tolist()

    return _scorer("laion-aesthetic", card, folder, batch, look)


def image_reward(folder: Path, *, text: TextInput = "full", device: str | None = None, batch: int = 8) -> PictureScorer:
    """ImageReward: BLIP with a head, standardised by its authors' mean and deviation."""
    network = BlipReward(Path(folder), device=device)
    card = _card(text, is_logit=True, transform="(head - 0.1672) / 1.0333; the first 35 tokens of the prompt are read",
                 measures="How experts ranked pictures of one prompt.", licence="Apache-2.0",
                 source="Xu et al. 2023, ImageReward")  # fmt: skip
    return _scorer("imagereward", card, folder, batch, lambda shown: network.scores(*_split(shown)))


def mps(folder: Path, *, text: TextInput = "full", device: str | None = None, batch: int = 8) -> PictureScorer:
    """MPS under the condition in its folder (overall, aesthetics, semantics or detail)."""
    network = CrossClip(Path(folder), device=device)
    card = _card(text, is_logit=True, transform="exp(logit scale) cos after attention to the words let through",
                 measures="Which of two pictures raters preferred under the condition.", licence="see its release",
                 source="Zhang et al. 2024, Multi-dimensional Preference Score")  # fmt: skip
    return _scorer("mps", card, folder, batch, lambda shown: network.scores(*_split(shown)))


def hpsv3(folder: Path, *, text: TextInput = "full", device: str | None = None, batch: int = 1) -> PictureScorer:
    """HPSv3: mu of a Qwen2-VL with a head, and the sigma it gives beside it."""
    network = QwenReward(Path(folder), device=device)
    card = _card(text, is_logit=True, transform="mu; sigma = exp(second output)",
                 measures="Which of two pictures raters preferred, over photographs and many generators.",
                 licence="MIT; Qwen2-VL's own for the network below", source="Ma et al. 2025, HPSv3")  # fmt: skip
    return _scorer("hpsv3", card, folder, batch, lambda shown: network.scores(*_split(shown)))


def _card(text: TextInput, **told: object) -> ScorerCard:
    return ScorerCard(reads="image and prompt", view=parts_read(text), **told)


def _scorer(name: str, card: ScorerCard, place: str | Path, batch: int, numbers: Numbers) -> PictureScorer:
    local = Path(place).exists()
    settings = {"weights": Path(place).name if local else str(place), "backend": BACKEND,
                "text": "+".join(card.view) or ("all" if card.reads != "image" else None)}  # fmt: skip
    signature = Signature(method=name, data=fingerprint(place), settings=settings)
    return PictureScorer(name, card, signature, lambda shown: [_result(one) for one in numbers(shown)], batch=batch)


def _result(number: float | tuple[float, float]) -> Result:
    """A network may overflow on a strange picture; what is not a number is none."""
    value, sigma = number if isinstance(number, tuple) else (number, None)
    if not np.isfinite(value):
        return Unscored("the network gave no finite number")
    return Scored(float(value), None if sigma is None else float(sigma))


def _split(shown: Sequence[Shown]) -> tuple[list[Image.Image], list[str]]:
    return [one.image for one in shown], [one.text for one in shown]


def _cosines(clip: Clip, shown: Sequence[Shown]) -> list[float]:
    return clip.cosines(*_split(shown))
