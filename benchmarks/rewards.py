"""Pictures per second of a reward, against the scorer behind it called directly.

Heads on the default encoder (nobody trained them: what they say does not matter here) score pictures of 512 x 512 that
lie in memory as a tensor, as a trainer of diffusion models has them. Ours: the reward, which asks about one picture at
a time so that its bits do not hang on company, and with `alone=False` (`together`). Peer: the scorer on PNG files that
are there already, eight at a time. Limit: the encoder's network alone, on decoded pictures. Every turn begins with an
empty cache. `apart` is the largest difference between rewards alone and in company, in the scorer's unit. A second line
has a measurement without a network (naturalness), where what a reward adds is largest.

Processor seconds of one thread, the shortest of several turns, all ways in turn.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from salon.judge import PictureScorer
from salon.judge.scorers.rules import measurement_scorer
from salon.judge.trained_model import trained_scorer
from salon.models import HeadShape, ModelCard, ModelCriterion, PreferenceHeads, open_encoder, save_heads
from salon.models.embedded_networks import features_and_chances
from salon.select.reward_source import Reward
from salon.study import Item, Prompt, Signature

ENCODER = "effnet-lite2+minilm"
PICTURES, SIDE, ROUNDS = 32, 512, 3
TEXT = "a poster for a jazz night"


def model(folder: Path) -> PictureScorer:
    """Heads that were saved as training saves them."""
    torch.manual_seed(0)
    encoder = open_encoder(ENCODER)
    card = ModelCard(
        kind="heads", criteria=(ModelCriterion(id="taste", name="taste", view=()),), name="untrained",
        backbone=encoder.signature, backbone_name=ENCODER, form="scalar", is_logit=True, study="none",
        data="0", licence="none", signature=Signature(method="benchmark"),
    )  # fmt: skip
    shape = HeadShape(form="scalar", parts=encoder.parts, text_width=encoder.text_width, criteria=("taste",))
    save_heads(folder, PreferenceHeads(shape), card, readme="for a benchmark")
    return trained_scorer(folder)


def shortest(*ways: Callable[[], object]) -> list[float]:
    """Processor seconds of each, the shortest of several turns."""
    best = [float("inf")] * len(ways)
    for _ in range(ROUNDS):
        for n, way in enumerate(ways):
            with tempfile.TemporaryDirectory() as cache:
                os.environ["SALON_CACHE"] = cache
                start = time.process_time()
                way()
                best[n] = min(best[n], time.process_time() - start)
    return best


def line(name: str, scorer: PictureScorer, pixels: torch.Tensor, files: list[Path], limit: float | None) -> None:
    """Measure, and print."""
    items = [Item(id=path.stem, image=str(path)) for path in files]
    prompt = Prompt(id="p", text=TEXT, intent=TEXT)
    texts, alone, together = [prompt] * len(items), Reward(scorer), Reward(scorer, alone=False)
    ours, company, peer = shortest(
        lambda: alone(pixels, texts), lambda: together(pixels, texts), lambda: scorer.results(items, texts)
    )
    gap = np.abs(np.array(alone(pixels, texts), float) - np.array(together(pixels, texts), float)).max()
    print(json.dumps({
        "name": name, "ours": round(PICTURES / ours, 2), "peer_name": "the scorer itself, on files",
        "peer": round(PICTURES / peer, 2), "ratio": round(peer / ours, 3),
        "limit": None if limit is None else round(PICTURES / limit, 2), "unit": "pictures/s of one core",
        "together": round(PICTURES / company, 2), "ratio_together": round(peer / company, 3), "apart": float(gap),
        "pictures": PICTURES, "side": SIDE,
    }), flush=True)  # fmt: skip


def main() -> None:
    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    small = rng.integers(0, 256, (PICTURES, 16, 16, 3), dtype=np.uint8)
    images = [Image.fromarray(one).resize((SIDE, SIDE), Image.Resampling.BICUBIC) for one in small]
    pixels = torch.from_numpy(np.stack([np.asarray(one) for one in images])).permute(0, 3, 1, 2) / 255.0
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / f"{n}.png" for n in range(PICTURES)]
        for file, image in zip(files, images):
            image.save(file)
        (network,) = shortest(lambda: features_and_chances(images))
        line("reward of heads", model(Path(folder) / "model"), pixels, files, network)
        line("reward of a measurement", measurement_scorer("naturalness"), pixels, files, None)


if __name__ == "__main__":
    main()
