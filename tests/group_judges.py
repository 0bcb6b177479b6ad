"""Simulated judges that see how good a picture is in its color: for rewards of groups."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator

import numpy as np
from PIL import Image

from salon.judge import Conversation, NoReply, Reply
from salon.study import Signature


def group_pictures(quality: np.ndarray, salt: int = 0) -> list[Image.Image]:
    """Pictures whose red and green channels hold their quality, in hundredths above -300."""
    codes = np.round(100 * quality).astype(int) + 30000
    return [Image.new("RGB", (2, 2), (int(code) // 256, int(code) % 256, salt % 256)) for code in codes]


def quality_of(path: object) -> float:
    with Image.open(str(path)) as image:
        red, green, _ = image.convert("RGB").getpixel((0, 0))  # type: ignore[misc]
    return (256 * red + green - 30000) / 100


class BiasedJudge:
    """Prefers the better picture by Bradley-Terry, and with chance `bias` the one shown first, whatever it is.

    With `unread` it says nothing of use. Each question has one answer, however often it is asked.
    """

    def __init__(self, bias: float = 0.0, unread: float = 0.0, seed: int = 0, sharp: bool = False) -> None:
        self.name, self.bias, self.unread, self.seed, self.sharp = "biased", bias, unread, seed, sharp
        self.signature = Signature(method="biased", seed=seed)
        self.asked: list[tuple[float, float]] = []

    def reply(self, conversations: Iterable[Conversation]) -> Iterator[tuple[int, Reply | NoReply]]:
        for index, asked in enumerate(conversations):
            first, second = (quality_of(sight.path) for sight in asked.sights)
            self.asked.append((first, second))
            text = f"{self.seed} {first} {second} {[part for part in asked.parts if isinstance(part, str)]}"
            rng = np.random.default_rng(int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big"))
            kind, silent, coin = rng.random(3)
            if silent < self.unread:
                yield index, Reply(text="Both have their charm.")
            elif kind < self.bias:
                yield index, Reply(text='{"verdict": "A"}')
            else:
                wins = first > second if self.sharp else coin < 1 / (1 + np.exp(second - first))
                yield index, Reply(text='{"verdict": "A"}' if wins else '{"verdict": "B"}')


def print_curve(groups: int = 200) -> None:
    """Calls against accuracy of a group reward, as docs/guide/chat-scorers.md has it: `python tests/group_judges.py`.

    Groups of 8 pictures with qualities from N(0, 2^2) logits. Mean Kendall tau-b of scores and qualities with its
    error, and how often the best picture is first.
    """
    from scipy.stats import kendalltau

    from salon.select import group_reward

    rng = np.random.default_rng(0)
    qualities = [np.round(rng.normal(0, 2, 8), 2) for _ in range(groups)]
    print("bias design pairs calls tau se best")
    for bias in (0.0, 0.3, 0.6):
        for design in ("active", "random"):
            for pairs in (8, 11, 14, 18, 22, 28):
                taus, best = [], []
                for number, quality in enumerate(qualities):
                    reward = group_reward(BiasedJudge(bias, seed=number), pairs=pairs, design=design)
                    scores = np.array(reward(group_pictures(quality, number), str(number)), float)
                    taus.append(np.nan_to_num(kendalltau(scores, quality).statistic))
                    best.append(scores.argmax() == quality.argmax())
                error = np.std(taus) / np.sqrt(groups)
                print(f"{bias:.1f} {design} {pairs} {2 * pairs} {np.mean(taus):.3f} {error:.3f} {np.mean(best):.2f}")


if __name__ == "__main__":
    print_curve()
