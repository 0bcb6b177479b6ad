"""Labels by four sources, learned by the same policy with the same reward: order, scale, and what each is owed to.

python -m prove.distill_policy [KEPT]        KEPT: a file of results so far, which are not computed again

Writes docs/methods/distill-policy-table.md and distill-policy-{srcc,mean}.svg. Everything is simulated (see
`_distill_world`), at the paper's scale: 3,000 items, N = 50, K = 10, five criteria.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from prove._distill_numeric import Floats, Learning, Policy, trained
from prove._distill_page import (
    Get,
    Told,
    difference,
    difference_table,
    draw,
    figure_table,
    interval,
    page,
    paragraph,
)
from prove._distill_words import HEAD, WORDS
from prove._distill_world import World, WorldSettings, drawn_world, labels
from prove._page import table
from salon.evaluate import PseudoScores, Source
from salon.train import DistillLabelSettings
from salon.train.distill_label_settings import plan_budget

SEEDS, GRID_SEEDS = range(5), range(3)
EQUAL = 30_725
CALLS: dict[Source, int] = {"bridge": 30_725, "majority": 96_000, "pointwise": 3_000}
PAIRS: tuple[tuple[Source, Source], ...] = (("bridge", "majority"), ("majority", "pointwise"))
PAPER, FREE, ABSOLUTE = Learning(), Learning(beta=0.0), Learning(absolute=1.0)
APART = Learning(apart=8)
CONDITIONS = {
    "the paper's reward, held to the start": PAPER,
    "the paper's reward, free": FREE,
    "with the absolute term": ABSOLUTE,
}
WEIGHTS: dict[str, dict[str, Any]] = {
    "by gap": {},
    "none": {"weigh": "none"},
    "by posterior": {"weigh": "posterior"},
}
BLUNT, MANY = "blunt judge (spread 1)", "1,024 features"
WORLDS: dict[str, dict[str, Any]] = {
    "as above": {},
    "64 features": {"features": 64},
    MANY: {"features": 1024},
    "answers stuck (k = 1)": {"stuck": 1.0},
    BLUNT: {"spread": 1.0},
}


@dataclass(frozen=True)
class Run:
    """One policy: who labelled what, how it learned."""

    seed: int
    source: Source | None
    """None: the policy as it starts."""
    calls: int | None = None
    learning: tuple[tuple[str, Any], ...] = ()
    world: tuple[tuple[str, Any], ...] = ()

    @property
    def key(self) -> str:
        """Its name in the file of results."""
        return json.dumps(asdict(self), sort_keys=True)


@dataclass(frozen=True)
class Figures:
    """A policy on held-out items, means over criteria."""

    srcc: float
    mae: float
    mean: float
    spread: float
    sigma: float


def run(seed: int, source: Source | None, how: Learning = PAPER, calls: int | None = None, **world: Any) -> Run:
    """A run named by what differs from the defaults."""
    differs = tuple((name, value) for name, value in asdict(how).items() if value != asdict(PAPER)[name])
    return Run(seed, source, calls, differs, tuple(world.items()))


def weighed(how: Learning, weights: dict[str, Any]) -> Learning:
    """The same with other weights of pairs."""
    return Learning(**asdict(how) | weights)


def main(kept: Path | None = None) -> None:
    """Compute what is not kept, and write the page."""
    found = _read(kept)
    for one in runs():
        if one.key not in found:
            found[one.key] = figures(one)
            print(one, found[one.key], flush=True)
            if kept is not None:
                with kept.open("a") as file:
                    file.write(json.dumps([one.key, asdict(found[one.key])]) + "\n")
    write_page(found)


def runs() -> Iterator[Run]:
    """Everything on the page, what matters most first."""
    for seed in SEEDS:
        yield run(seed, None)
        for how in CONDITIONS.values():
            for source in CALLS:
                yield run(seed, source, _own(source, how))
        for how, name in ((PAPER, "none"), (PAPER, "by posterior"), (FREE, "none")):
            yield run(seed, "bridge", weighed(how, WEIGHTS[name]))
        for source in ("majority", "pointwise", "elo"):
            yield run(seed, source, PAPER, EQUAL)
    for seed in SEEDS:
        for weights in ("by gap", "none"):
            yield run(seed, "bridge", weighed(APART, WEIGHTS[weights]))
    for seed in GRID_SEEDS:
        for world in WORLDS.values():
            for source in ("bridge", "majority"):
                yield run(seed, source, PAPER, **world)
    for seed in GRID_SEEDS:
        for name in (MANY, BLUNT):
            yield run(seed, "bridge", weighed(PAPER, WEIGHTS["none"]), **WORLDS[name])


# -- the page --------------------------------------------------------------------------------------------------------


def write_page(found: dict[str, Figures]) -> None:
    """Tables of what was found; a table takes the seeds that all its rows have."""

    def told(source: Source | None, how: Learning = PAPER, calls: int | None = None, **world: Any) -> list[Told]:
        seeds = GRID_SEEDS if world else SEEDS
        return [asdict(found[key]) for seed in seeds if (key := run(seed, source, how, calls, **world).key) in found]

    parts = [HEAD]
    for name, how in CONDITIONS.items():
        rows = [("the start, unlabelled", "0", told(None))]
        rows += [(source, f"{CALLS[source]:,}", told(source, _own(source, how))) for source in CALLS]
        parts += [f"## {name[0].upper()}{name[1:]}\n", paragraph(WORDS[name]), figure_table(rows)]
        claims = [(f"{one} > {two}", told(one, _own(one, how)), told(two, _own(two, how))) for one, two in PAIRS]
        parts += [difference_table(claims)]
    parts += _pictures(told)
    claims = []
    none, posterior = (told("bridge", weighed(PAPER, WEIGHTS[name])) for name in ("none", "by posterior"))
    claims += [("held: by gap > none", told("bridge"), none)]
    claims += [("held: by posterior > none", posterior, none)]
    claims += [("held: by posterior > by gap", posterior, told("bridge"))]
    claims += [("free: by gap > none", told("bridge", FREE), told("bridge", weighed(FREE, WEIGHTS["none"])))]
    claims += [("eight parts: by gap > none", told("bridge", APART), told("bridge", weighed(APART, WEIGHTS["none"])))]
    for name in (MANY, BLUNT):
        both = (told("bridge", how, **WORLDS[name]) for how in (PAPER, weighed(PAPER, WEIGHTS["none"])))
        claims += [(f"{name}: by gap > none", *both)]
    parts += ["## Confidence weighting\n", paragraph(WORDS["weights"]), difference_table(claims)]
    rows = [("bridge", f"{EQUAL:,}", told("bridge"))]
    rows += [(name, _spent(name), told(name, PAPER, EQUAL)) for name in ("majority", "pointwise", "elo")]
    claims = [(f"bridge > {name}", told("bridge"), told(name, PAPER, EQUAL)) for name in ("majority", "elo")]
    parts += ["## The same number of calls for all\n", paragraph(WORDS["equal"]), figure_table(rows)]
    parts += [difference_table(claims), "## Other worlds\n", paragraph(WORDS["worlds"]), _worlds(told)]
    page(parts)


def _worlds(told: Get) -> str:
    rows = []
    for name, world in WORLDS.items():
        bridge, majority = (told(source, PAPER, **world)[: len(GRID_SEEDS)] for source in ("bridge", "majority"))
        if len(bridge) > 1 and len(bridge) == len(majority):
            srcc = [interval([one["srcc"] for one in results]) for results in (bridge, majority)]
            rows.append([name, *srcc, difference(bridge, majority, "srcc", more=True)])
    return table(["world", "SRCC, bridge", "SRCC, majority", "bridge > majority"], rows)


def _pictures(told: Get) -> list[str]:
    rows: dict[str, list[tuple[str, list[float], str]]] = {"srcc": [], "mean": []}
    for key in rows:
        for name, how in CONDITIONS.items():
            for source in CALLS:
                rows[key].append((source, [one[key] for one in told(source, _own(source, how))], name))
    draw("distill-policy-srcc.svg", rows["srcc"], None, title="SRCC on held-out items", x_label="SRCC")
    words = {"title": "Predicted mean on held-out items", "x_label": "predicted mean, scale 1 to 5"}
    draw("distill-policy-mean.svg", rows["mean"], 2.95, **words)
    return [
        "![SRCC by source and reward](distill-policy-srcc.svg)\n",
        "![Predicted mean by source and reward](distill-policy-mean.svg)\n",
    ]


def _own(source: Source, how: Learning) -> Learning:
    """Votes have no values to be near to: without the absolute term."""
    return PAPER if source == "majority" and how == ABSOLUTE else how


def _spent(source: Source) -> str:
    return f"{plan_budget(3000, DistillLabelSettings(source=source, max_calls=EQUAL)).calls:,}"


# -- runs ------------------------------------------------------------------------------------------------------------


def figures(one: Run) -> Figures:
    """The policy of a run, measured."""
    world, told = _labelled(one.seed, one.source, one.calls, one.world)
    how = Learning(**dict(one.learning))
    policy = Policy(world, how.sigma) if told is None else trained(world, told, how, seed=1000 + one.seed)
    return measured(policy.mean(world.x[world.test]), world.truth[world.test], float(policy.sigma.mean()))


def measured(said: Floats, truth: Floats, sigma: float) -> Figures:
    """What `said` is worth."""
    srcc = [float(spearmanr(said[:, k], truth[:, k]).statistic) for k in range(truth.shape[1])]
    return Figures(
        float(np.mean(srcc)),
        float(np.abs(said - truth).mean()),
        float(said.mean()),
        float(said.std(axis=0, ddof=1).mean()),
        sigma,
    )


@cache
def _labelled(
    seed: int, source: Source | None, calls: int | None, world: tuple[tuple[str, Any], ...]
) -> tuple[World, PseudoScores | None]:
    drawn = drawn_world(WorldSettings(**dict(world)), seed)
    return drawn, None if source is None else labels(drawn, source, calls)


def _read(kept: Path | None) -> dict[str, Figures]:
    if kept is None or not kept.is_file():
        return {}
    return {key: Figures(**told) for key, told in map(json.loads, kept.read_text().splitlines())}


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
