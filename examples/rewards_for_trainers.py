"""One reward, called as five trainers call it, with the same numbers: python examples/rewards_for_trainers.py out

Two measurements are weighed against a frozen reference. No trainer is needed to run this; what stands in for one here
is its call. The pictures are plain fields of color; put your own in their place.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np

import salon
from salon.select import write_sealed
from salon.select.reward_source import open_scorers
from salon.select.rewards import flow_factory_reward, flow_grpo_score, swift_reward, trl_reward, verl_score
from salon.select.weights import make_reference

SCORERS = ("palette", "balance")
PROMPT = "A poster for a jazz night in red and black"


def drawn(text: str, row: object = None) -> np.ndarray:
    """What a model wrote as a picture: here its words are a seed, and a red block stands somewhere on black."""
    rng = np.random.default_rng(sum(text.encode()))
    picture = np.full((128, 96, 3), (20, 20, 24), np.uint8)
    top, left = rng.integers(0, 64), rng.integers(0, 48)
    picture[top : top + 64, left : left + 48] = (rng.integers(120, 256), rng.integers(0, 120), 40)
    return picture


def freeze(file: Path) -> None:
    """Where each measurement lies on twenty pictures; `salon select reference` does this for a study."""
    scorers = open_scorers(SCORERS)
    pictures = [drawn(f"reference {n}") for n in range(20)]
    values = [salon.reward(one)(pictures, [PROMPT] * len(pictures)) for one in scorers.values()]
    signatures = [str(one.signature) for one in scorers.values()]
    write_sealed(
        make_reference("blocks", list(scorers), np.array(values, float).T, signatures=signatures), file, overwrite=True
    )


def main() -> None:
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    freeze(out / "reference.json")
    taste = salon.reward(
        *SCORERS, weights="palette=3,balance=1", reference=out / "reference.json", clip=3, name="taste"
    )
    texts = ["sax", "trumpet", "drums"]
    pictures, prompts = [drawn(text) for text in texts], [PROMPT] * 3
    judged = taste.judged(pictures, prompts)
    for text, reward, palette, balance in zip(texts, judged.rewards, judged.parts["palette"], judged.parts["balance"]):
        print(f"{text:<8} {reward:6.3f} = palette {palette:6.3f} + balance {balance:6.3f}")
    print(taste.signature)

    called = {
        "TRL": trl_reward(taste, picture=drawn)(prompts=prompts, completions=texts, completion_ids=[[0]] * 3),
        "verl": [
            verl_score(taste, picture=drawn)("posters", text, None, {"prompt": PROMPT})["score"] for text in texts
        ],
        "ms-swift": swift_reward(taste, picture=drawn, prompt="brief")()(texts, brief=prompts),
        "flow_grpo": flow_grpo_score(taste)(np.stack(pictures), prompts, {})[0],
        "Flow-Factory": flow_factory_reward(taste, Bare, SimpleNamespace)(None, None)(prompts, pictures).rewards,
    }
    for trainer, rewards in called.items():
        print(f"{trainer:<12} {'the same numbers' if rewards == judged.rewards else rewards}")


class Bare:
    """In the place of Flow-Factory's PointwiseRewardModel."""

    def __init__(self, config: object, accelerator: object) -> None:
        self.config, self.accelerator = config, accelerator


if __name__ == "__main__":
    main()
