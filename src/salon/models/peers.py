"""What each released scorer does to pictures and texts before its network, and to the number after it, as data.

A rule states what the release's own code does; `source` says where that code is. Every loader takes its rules from
here, `preprocessing` and `clip` carry them out, and tests/models/test_peer_numbers.py compares the results with
numbers that the peers' own code gave. What differs on purpose is the policy for pictures (`store.pictures`): upright,
on white, 8-bit RGB before anything else. No peer does all of that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Fit = Literal["crop", "pad", "stretch", "patches"]
Interpolation = Literal["nearest", "lanczos", "bilinear", "bicubic", "box", "hamming"]
Positions = Literal["flat", "m-rope", "own"]
"""Rotary positions of a VLM's tokens. flat: 0, 1, 2, ... over the whole row, the same on all axes, pictures and padding
included. m-rope: rows and columns of a picture on axes of their own. own: what any other network does by itself."""

CLIP_MEAN = (0.48145466, 0.4578275, 0.40821073)
CLIP_SD = (0.26862954, 0.26130258, 0.27577711)


@dataclass(frozen=True)
class PictureRule:
    """How an RGB picture becomes what the network takes."""

    fit: Fit
    """crop: the shorter side to `shorter`, then the middle square. pad: the longer side to the network's side, then
    zeros around it. stretch: both sides to the network's. patches: both to multiples of a patch, near `budget`."""
    other_side: Literal["cut", "round"] = "cut"
    """How the side that follows from the other becomes a whole number: int(), or Python's round()."""
    margin: Literal["half to even", "floor"] = "floor"
    """Where the crop or the padded picture begins: int(round(margin / 2)), or margin // 2."""
    resize_on: Literal["bytes", "floats"] = "bytes"
    """bytes: Pillow's resize, rounded and clipped to 8 bits. floats: torch's interpolate on 0..1, not clipped."""
    interpolation: Interpolation = "bicubic"
    antialias: bool = True
    """Only for floats: whether a smaller picture is an average over a wider neighborhood. Pillow always does that."""
    shorter: int | None = None
    """What the shorter side becomes before the crop; the network's side unless given."""
    budget: int | None = None
    """With patches: merged patches that every picture comes near, up or down, in its own proportions."""
    first_unit: int | None = None
    """With patches: every picture is resized to multiples of this first, near `budget`, and then to the nearest
    multiples of the network's own."""
    mean: tuple[float, float, float] = CLIP_MEAN
    sd: tuple[float, float, float] = CLIP_SD

    @property
    def label(self) -> str:
        """The rule in a few words, for a signature."""
        parts = [self.fit, self.interpolation, f"on {self.resize_on}"]
        if self.resize_on == "floats":
            parts.append("antialias" if self.antialias else "no antialias")
        if self.fit in ("crop", "pad"):
            parts += [self.other_side, self.margin]
        return " ".join(parts)


@dataclass(frozen=True)
class PromptRule:
    """How a prompt becomes tokens."""

    tokenizer: Literal["CLIP", "open_clip", "BERT", "Qwen2-VL"]
    """CLIP and Qwen2-VL: transformers' fast tokenizer. open_clip: its SimpleTokenizer. BERT: lower case, no accents."""
    cleaning: Literal["none", "open_clip"] = "none"
    """open_clip: ftfy.fix_text, HTML unescaped twice, runs of white space to one space, lower case."""
    longest: int | None = None
    """Tokens that are read, first and last included; None: as many as the network has places for."""
    padded: bool = True
    """Whether every text is filled up to `longest`."""


@dataclass(frozen=True)
class Peer:
    """A released scorer."""

    name: str
    title: str
    source: str
    """Whose code the rules were read in."""
    pictures: PictureRule
    texts: PromptRule | None
    pooling: str
    output: str
    """What Salon gives, by the network's own number."""
    positions: Positions = "own"


_OPENAI = PictureRule("crop", margin="half to even")
"""torchvision's Resize and CenterCrop on a Pillow picture, as OpenAI's CLIP has them."""
_TRANSFORMERS = PictureRule("crop", margin="floor")
"""transformers' CLIPImageProcessor; sizes, mean and sd are those of the folder's preprocessor_config.json."""
_WHOLE = PictureRule("pad", other_side="round", resize_on="floats")
_LAST = "the place of the largest token id, the end of the text; the picture's class token"

PEERS: Mapping[str, Peer] = {
    peer.name: peer
    for peer in (
        Peer("clip", "CLIP score", "Hessel et al. 2021, on transformers' CLIP", _TRANSFORMERS, PromptRule("CLIP"),
             _LAST, "100 max(cos, 0)"),
        Peer("pickscore", "PickScore", "README of the PickScore repository, on transformers' CLIP", _TRANSFORMERS,
             PromptRule("CLIP"), _LAST, "exp(logit scale) cos"),
        Peer("hpsv2", "HPSv2.1", "hpsv2 1.2.0: img_score.score, open_clip/transform.py and tokenizer.py", _WHOLE,
             PromptRule("open_clip", "open_clip"), _LAST,
             "exp(logit scale) cos: 100.03 times the released number, which is the cosine"),
        Peer("hpsv2-published", "HPSv2.1 as published",
             "the same under torchvision before 0.17, which resized floats without antialias",
             PictureRule("pad", other_side="round", resize_on="floats", antialias=False),
             PromptRule("open_clip", "open_clip"), _LAST,
             "exp(logit scale) cos: 100.03 times the released number, which is the cosine"),
        Peer("laion", "LAION-Aesthetic-V2",
             "simple_inference.py of improved-aesthetic-predictor; clip.py of openai-clip 1.0.1", _OPENAI, None,
             "the picture's class token, projected, of length 1", "the head's number: a mean rating from 1 to 10"),
        Peer("imagereward", "ImageReward", "image-reward 1.5: ImageReward.py", _OPENAI, PromptRule("BERT", longest=35),
             "the first token of the text", "(head - 0.16717362830052426) / 1.0333394966054072"),
        Peer("mps", "MPS", "infer_one_sample of the MPS repository's evaluation on HPDv2", _TRANSFORMERS,
             PromptRule("CLIP"), "the picture's class token after attention to the words let through, padding included",
             "exp(logit scale) cos"),
        Peer("hpsv3", "HPSv3",
             "hpsv3 1.0.0: inference.py, dataset/utils.py and model/qwen2vl_trainer.py on transformers 4.45.2",
             PictureRule("patches", budget=256), PromptRule("Qwen2-VL", padded=False), "the place of the special token",
             "mu; sigma = exp(second output), not clipped", positions="flat"),
        Peer("hpsv3++", "HPSv3++",
             "HPSv3-PlusPlus at 7bdbebc: hpsv3/inference.py, dataset/utils.py and model/qwen3vl_rm.py",
             PictureRule("patches", budget=256, first_unit=28, mean=(0.5, 0.5, 0.5), sd=(0.5, 0.5, 0.5)),
             PromptRule("Qwen2-VL", padded=False), "the place of the special token, modulated by capability and step",
             "mu; sigma = exp(second output), not clipped"),
    )
}  # fmt: skip
"""Every released scorer by the name that `salon score` knows it by."""
IMAGE_REWARD_MEAN, IMAGE_REWARD_SD = 0.16717362830052426, 1.0333394966054072
"""Of ImageReward's head over its authors' data; scores are standardized with them."""
