"""Which look to keep: rules compared on planted learning curves, seen through few validation items.

python -m prove.distill_choice

Writes docs/methods/distill-choice-table.md. Looks go through `salon.train.distill_validation.ValidationCurve`,
as in training.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from numpy.typing import NDArray

from prove._page import table, wrapped
from salon.evaluate import PseudoScores
from salon.train.distill_validation import OnePassData, QuestionForm, ValidationCurve

DOCS = Path(__file__).parents[1] / "docs/methods"
Floats = NDArray[np.float64]
LOOKS, SHARED = 10, 0.5
"""Looks of a run, and how far errors about an item are the same from look to look."""
SIZES, REPEATS = (30, 50, 100, 300), 150
_TIME = np.linspace(0.1, 1, LOOKS)


def _collapse(rng: np.random.Generator) -> Floats:
    return np.where(np.arange(LOOKS) < 6, 0.7 * (1 - np.exp(-5 * _TIME)), 0.0)


WORLDS: dict[str, Callable[[np.random.Generator], Floats]] = {
    "rise and stay": lambda rng: 0.7 * (1 - np.exp(-4 * _TIME)),
    "still rising": lambda rng: 0.7 * _TIME,
    "rise and fall": lambda rng: 0.75 * np.sin(np.pi * (0.85 * _TIME + 0.05)),
    "collapse": _collapse,
    "unstable": lambda rng: rng.uniform(0.2, 0.8, LOOKS),
    "flat": lambda rng: np.full(LOOKS, 0.5),
    "nothing": lambda rng: np.zeros(LOOKS),
}
"""True correlation of scores and labels, look by look; in a collapse all items get one score from the seventh on."""


@dataclass(frozen=True)
class Figures:
    """Means over runs."""

    regret: float
    """True SRCC of the best state less that of the chosen one."""
    optimism: float
    """Reported SRCC of the chosen state less its true one."""
    learned: float
    """Share of runs whose chosen state is called above chance."""


def rules(curve: ValidationCurve) -> dict[str, int]:
    """The look that each rule keeps."""
    srcc = np.array([look.srcc for look in curve.looks])
    best = len(srcc) - 1 - int(srcc[::-1].argmax())
    error = np.array([(draws - curve._draws[best]).std() for draws in curve._draws])
    near = np.flatnonzero(srcc >= srcc[best] - error)
    padded = np.concatenate([srcc[:1], srcc, srcc[-1:]])
    assert curve.kept is not None
    return {
        "bare maximum": best,
        "latest within one error": curve.kept - 1,
        "earliest within one error": int(near[0]),
        "maximum of means of three": int(((padded[:-2] + padded[1:-1] + padded[2:]) / 3).argmax()),
        "last": len(srcc) - 1,
    }


def simulate(items: int, *, repeats: int, seed: int) -> dict[str, dict[str, Figures]]:
    """By world and rule: what is kept."""
    return {name: _world(items, curve, repeats, np.random.default_rng([seed, items, n]))
            for n, (name, curve) in enumerate(WORLDS.items())}  # fmt: skip


def _world(
    items: int, planted: Callable[[np.random.Generator], Floats], repeats: int, rng: np.random.Generator
) -> dict[str, Figures]:
    rows: dict[str, list[tuple[float, float, float]]] = {}
    for _ in range(repeats):
        rho = planted(rng)
        true = 6 / np.pi * np.arcsin(rho / 2)  # Spearman's correlation of a normal law
        curve = _looks(items, rho, is_constant=bool(rho.any()), rng=rng)
        for rule, place in rules(curve).items():
            learned = not curve.verdict(curve.looks[place].step).is_broken
            rows.setdefault(rule, []).append((true.max() - true[place], curve.looks[place].srcc - true[place], learned))
    return {rule: Figures(*np.mean(some, axis=0).tolist()) for rule, some in rows.items()}


def _looks(items: int, rho: Floats, *, is_constant: bool, rng: np.random.Generator) -> ValidationCurve:
    """A run of which the true correlations are known; at 0 all items get one score, where it had been higher."""
    names = tuple(map(str, range(items)))
    quality, shared = rng.normal(size=items), rng.normal(size=items)
    labels = PseudoScores(names, ("q",), quality[:, None], np.full((items, 1), np.nan), -9, 9, "bridge")
    asking = QuestionForm(lambda item: "", lambda text: SimpleNamespace(scores=(float(text),)), lambda rng: "")
    curve = ValidationCurve(OnePassData(labels, dict.fromkeys(names, Path()), asking, (), names), names)
    for step, r in enumerate(rho, start=1):
        error = np.sqrt(SHARED) * shared + np.sqrt(1 - SHARED) * rng.normal(size=items)
        scores = np.zeros(items) if r == 0 and is_constant else r * quality + np.sqrt(1 - r**2) * error
        curve.add(step, [str(score) for score in scores], None)
    return curve


def main() -> None:
    parts = ["# Which look to keep", wrapped(_WORDS.format(looks=LOOKS, repeats=REPEATS))]
    for items in SIZES:
        found = simulate(items, repeats=REPEATS, seed=0)
        names = list(found["flat"])
        cell = lambda one: f"{100 * one.regret:.1f} / {100 * one.optimism:+.1f}"  # noqa: E731
        mean = {name: Figures(*(float(np.mean([getattr(found[world][name], part) for world in WORLDS]))
                                for part in ("regret", "optimism", "learned"))) for name in names}  # fmt: skip
        rows = [[name, *(cell(found[world][name]) for world in WORLDS), cell(mean[name])] for name in names]
        learned = {world: found[world]["latest within one error"].learned for world in WORLDS}
        said = f"Called above chance: {100 * learned['nothing']:.1f}% of runs that learned nothing, "
        said += f"{100 * min(learned[world] for world in WORLDS if world != 'nothing'):.1f}% or more of the others."
        parts += [f"## {items} validation items", table(["", *WORLDS, "mean"], rows), said]
        print(items, mean, flush=True)
    (DOCS / "distill-choice-table.md").write_text("\n\n".join(part.strip() for part in parts) + "\n", encoding="utf-8")


_WORDS = """Written by `make prove ONLY=distill_choice`. {looks} looks at a policy whose true correlation with the
labels is planted, seen through a few validation items; {repeats} runs for each curve. The first number is what the
choice costs: SRCC of the truly best state less that of the state that is kept, in hundredths. The second is optimism:
the SRCC that is reported less the true one. `salon distill train` keeps the latest look within one standard error of
the highest SRCC. The error is that of the difference between the two looks on the same items."""


if __name__ == "__main__":
    main()
