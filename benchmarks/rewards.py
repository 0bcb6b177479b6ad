"""Pictures per second of a reward, against the scorer behind it called directly.

Heads on the default encoder (nobody trained them: what they say does not matter here) score pictures of 512 x 512 that
lie in memory as a tensor, as a trainer of diffusion models has them. Ours: the reward, which asks about one picture at
a time so that its bits do not hang on company, and with `alone=False` (`together`). Peer: the scorer on PNG files that
are there already, eight at a time. Limit: the encoder's network alone, on decoded pictures. Every turn begins with an
empty cache. `apart` is the largest difference between rewards alone and in company, in the scorer's unit. A second line
has a measurement without a network (naturalness), where what a reward adds is largest. The last lines are adapters for
trainers (`flow_grpo_reward` and so on), each called as its trainer calls it, against the reward called directly with
the whole batch; verl-omni's is called by eight threads with one picture each.

Processor seconds of one thread, the shortest of several turns, all ways in turn.
"""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch
from PIL import Image

from salon.judge import PictureScorer
from salon.judge.scorers.rules import measurement_scorer
from salon.judge.trained_model import trained_scorer
from salon.models import HeadShape, ModelCard, ModelCriterion, PreferenceHeads, open_encoder, save_heads
from salon.models.embedded_networks import features_and_chances
from salon.select.reward_source import Reward
from salon.select.rewards import flow_grpo_reward, miles_reward, mixgrpo_reward, verl_omni_score
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


def adapter_lines(scorer: PictureScorer, pixels: torch.Tensor) -> None:
    """Measure the adapters beside the reward itself, and print."""
    texts = [TEXT] * PICTURES
    samples = [SimpleNamespace(prompt=TEXT, generated_output=picture[:, None]) for picture in pixels]
    reward = Reward(scorer, alone=False)
    grpo, mix, miles = flow_grpo_reward(reward), mixgrpo_reward(reward), miles_reward(reward)
    one_by_one = verl_omni_score(reward, batch=8)

    def verl_omni() -> None:
        with ThreadPoolExecutor(8) as threads:
            list(threads.map(lambda picture: one_by_one("bench", picture, TEXT), pixels))

    names = ("flow_grpo", "MixGRPO", "miles_diffusion", "verl-omni")
    peer, *ours = shortest(
        lambda: reward(pixels, texts),
        lambda: grpo(pixels, texts, [{}] * PICTURES),
        lambda: mix(list(pixels), texts),
        lambda: asyncio.run(miles(None, samples)),
        verl_omni,
    )
    for name, seconds in zip(names, ours):
        print(json.dumps({
            "name": f"adapter for {name}", "ours": round(PICTURES / seconds, 2), "peer_name": "the reward itself",
            "peer": round(PICTURES / peer, 2), "ratio": round(peer / seconds, 3), "limit": 1,
            "unit": "pictures/s of one core", "pictures": PICTURES, "side": SIDE,
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
        adapter_lines(model(Path(folder) / "model"), pixels)


if __name__ == "__main__":
    main()
