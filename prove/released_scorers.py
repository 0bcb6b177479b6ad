"""How far are released scorers from the peers' own code? Writes docs/evidence/released-scorers.md.

    SALON_DATA=FOLDER python -m prove.released_scorers

Reads the reference numbers in `peers/scorers` beside FOLDER: every picture with every prompt, through `scorer_named`.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from prove._page import table
from salon.judge import PictureScore, ScoreSettings, make_scorer
from salon.models import PEERS
from salon.models.peers import Peer
from salon.store import read_picture
from salon.study import Item, Prompt

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/evidence/released-scorers.md"
INTRO = """
# Released scorers against their own code

Written by `make prove ONLY=released_scorers`; see [scorers](../methods/scorers.md). The last two columns give the
largest distance to the scores of the release's own package for the same tiny weights, pictures and prompts, and the
largest distance between pictures in files and the same pictures as tensors. Both are divided by the standard deviation
of all scores.
"""
FILES = {
    "clip": "any CLIP in the hub's layout",
    "pickscore": "PickScore_v1 in the hub's layout, with tokenizer and processor of CLIP ViT-H/14",
    "hpsv2": "`HPS_v2.1_compressed.pt`; config and tokenizer of CLIP ViT-H/14 (laion2B)",
    "hpsv2-published": "the same",
    "laion": "CLIP ViT-L/14 in the hub's layout; `sac+logos+ava1-l14-linearMSE.pth`",
    "imagereward": "`ImageReward.pt`, `med_config.json`, the tokenizer of bert-base-uncased",
    "mps": "`MPS_overall.safetensors`; config, tokenizer and processor of CLIP ViT-H/14; `condition.txt`",
    "hpsv3": "`HPSv3.safetensors`; config, tokenizer and processor of Qwen2-VL-7B-Instruct; its instruction",
    "hpsv3++": "`hpsv3++.pth`; config, tokenizer and processor of Qwen3-VL-8B-Instruct; its instruction",
}
LOGITS = ("pickscore", "hpsv2", "hpsv2-published", "imagereward", "mps", "hpsv3", "hpsv3++")
RESIZED = {"bytes": "in 8 bits by Pillow", "floats": "as floats in 0..1, not clipped"}


def main() -> int:
    data = Path(os.environ.get("SALON_DATA") or ROOT.parent / "shared" / "data")
    folder = data.parent / "peers" / "scorers"
    if not folder.is_dir():
        print(f"reference numbers of peers are needed: a folder {folder}", file=sys.stderr)
        return 2
    rows = []
    for name, peer in PEERS.items():
        if name == "hpsv3++":
            told = _compared_plus()
        else:
            told = _compared(folder, name) if name != "clip" else ("none: no peer", "")
        print(name, *told, flush=True)
        number = f"{peer.output}; a logit" if name in LOGITS else peer.output
        rows.append([f"`{name}:`", FILES[name], number, _prepared(peer), _read(peer), *told])
    head = ["name", "the folder holds", "number", "pictures", "texts, and the place that is read", "to the peer's code",
            "tensors to files"]  # fmt: skip
    PAGE.write_text(f"{INTRO.strip()}\n\n{table(head, rows)}", encoding="utf-8")
    return 0


def _compared(folder: Path, name: str) -> tuple[str, str]:
    """The largest distance over sd, to the peer's numbers and from files to tensors."""
    place = folder / name.split("-")[0]
    told = json.loads((place / "expected.json").read_text())
    pictures = json.loads((folder / "images.json").read_text())
    twins = {one["name"]: one.get("twin", one["name"]) for one in pictures}
    texts = {one["name"]: one["text"] for one in json.loads((folder / "prompts.json").read_text())}
    asked = [(image, prompt) for image in told["images"] for prompt in told.get("prompts", [None])]
    scorer: Any = make_scorer(f"{name}:{place / 'weights'}", ScoreSettings(device="cpu"))
    results = scorer.results(
        [Item(id=image, image=str(folder / "images" / image)) for image, _ in asked],
        [None if prompt is None else Prompt(id=prompt, text=texts[prompt]) for _, prompt in asked],
    )
    assert all(isinstance(one, PictureScore) for one in results)
    values = [one.value for one in results]

    def apart(key: str, found: Sequence[float]) -> tuple[float, float]:
        """The largest distance over sd, and sd."""
        grid = [row if isinstance(row, list) else [row] for row in told[key]]
        flat = np.array([np.nan if value is None else value for row in grid for value in row])
        flat *= told.get("exp_logit_scale", 1)
        numbers = dict(zip(asked, flat, strict=True))
        wanted = np.array([numbers[twins[image], prompt] for image, prompt in asked])
        return float(np.nanmax(np.abs(found - wanted)) / np.nanstd(flat)), float(np.nanstd(flat))

    if name == "hpsv3":
        (far, sd), (spread, _) = apart("mu", values), apart("sigma", [one.sigma for one in results])
        words = f"mu {far:.0e}, sigma {spread:.0e} sd ({len(asked)} pairs)"
    else:
        far, sd = apart("scores_without_antialias" if name == "hpsv2-published" else "scores", values)
        words = f"{far:.0e} sd ({len(asked)} pairs)"
    return words, f"{_tensors_apart(scorer, folder, asked, texts, values) / sd:.0e} sd"


def _compared_plus() -> tuple[str, str]:
    """The same for HPSv3++, whose reference is beside the tests."""
    tests = ROOT / "tests"
    sys.path[:0] = [str(tests), str(tests / "models")]
    from peer_reference import GOLDEN, TEXTS
    from tiny_rewards import save_hpsv3_plus

    rows = [row for row in json.loads((GOLDEN / "hpsv3++.json").read_text())["rows"] if not row["step"]]
    asked = [(row["image"], row["prompt"]) for row in rows]
    with tempfile.TemporaryDirectory() as folder:
        scorer: Any = make_scorer(f"hpsv3++:{save_hpsv3_plus(Path(folder))}", ScoreSettings(device="cpu"))
    results = scorer.results(
        [Item(id=image, image=str(GOLDEN / "images" / image)) for image, _ in asked],
        [Prompt(id=prompt, text=TEXTS[prompt]) for _, prompt in asked],
    )
    values = [one.value for one in results]
    mu, second = (np.array([row[key] for row in rows]) for key in ("mu", "second"))
    apart = np.abs(np.array(values) - mu).max() / mu.std()
    spread = np.abs(np.log([one.sigma for one in results]) - second).max() / second.std()
    words = f"mu {apart:.0e}, log sigma {spread:.0e} sd ({len(rows)} pairs)"
    return words, f"{_tensors_apart(scorer, GOLDEN, asked, TEXTS, values) / mu.std():.0e} sd"


def _tensors_apart(
    scorer: Any, folder: Path, asked: Sequence[tuple[str, str | None]], texts: dict[str, str], values: Sequence[float]
) -> float:
    """The largest distance between `score` of files and of the same pictures as tensors."""
    images = {image: np.array(read_picture(folder / "images" / image).image) for image, _ in asked}
    tensors = {image: torch.from_numpy(pixels).permute(2, 0, 1).float() / 255 for image, pixels in images.items()}
    farthest = 0.0
    for (image, prompt), value in zip(asked, values, strict=True):
        with torch.no_grad():
            told = [] if prompt is None else [texts[prompt]]
            found = float(scorer.score([tensors[image]], told, differentiable=True))
        farthest = max(farthest, abs(found - value))
    return farthest


def _prepared(peer: Peer) -> str:
    rule = peer.pictures
    whole = {
        "crop": "shorter side to the network's, longer side cut to a whole number, middle square from "
        + ("int(round(margin / 2))" if rule.margin == "half to even" else "margin // 2"),
        "pad": "longer side to the network's, other side rounded, zeros around",
        "patches": f"both sides to multiples of a merged patch, near {rule.budget} of them"
        if rule.first_unit is None
        else f"both sides to multiples of {rule.first_unit}, near {rule.budget} squares of it, then to the nearest "
        "multiples of a merged patch",
        "stretch": "both sides to the network's",
    }[rule.fit]
    smooth = "" if rule.resize_on == "bytes" else ", antialias" if rule.antialias else ", no antialias"
    return f"{whole}; {rule.interpolation} {RESIZED[rule.resize_on]}{smooth}"


def _read(peer: Peer) -> str:
    if peer.texts is None:
        return f"no prompt; {peer.pooling}"
    cleaned = ", cleaned as open_clip does" if peer.texts.cleaning == "open_clip" else ""
    longest = f", {peer.texts.longest} tokens" if peer.texts.longest else ""
    positions = "" if peer.positions == "own" else f"; {peer.positions} positions"
    return f"{peer.texts.tokenizer}'s tokens{cleaned}{longest}; {peer.pooling}{positions}"


if __name__ == "__main__":
    sys.exit(main())
