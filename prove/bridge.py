"""The bridge with a simulated judge of known noise: rank correlation, coverage, calls; docs/methods/bridge-table.md.

The judge's sharpness is fitted to the only figure the paper gives for a model as judge, not to the results, and these
are shown over a grid around it, including where the bridge fails. Seeds start where no choice of the method has looked:
the default prior and the rule for opponents were settled on seeds below.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from scipy.special import expit
from scipy.stats import spearmanr

from salon.fuse import RehearsalSettings, rehearse_bridge
from salon.fuse.bridge import run_bridge
from salon.fuse.bridge_simulation import Rehearsal, draw_judge
from salon.stats import comparison_budget

OUT = Path(__file__).parent.parent / "docs" / "methods" / "bridge-table.md"
ITEMS, POOL, OPPONENTS, TIES, STUDIES, SEED = 3000, 50, 10, 0.2, 8, 1000
MODEL, BLUNT = 3.9, 1.7
SPREADS = (0.5, 1.0, BLUNT, 2.5, MODEL, 6.0)
LAPSES = (0.1, 0.3)
TARGETS = (1.5, 1.2, 1.0)

HEAD = f"""\
# The bridge, measured

Written by `make prove ONLY=bridge`; see [bridge](bridge.md) for the method.
{ITEMS:,} items, a pool of {POOL}, {OPPONENTS} opponents: 30,725 calls in one order, 61,450 in both, against 4,498,500
for all pairs. Means over {STUDIES} simulated studies (seeds {SEED} to {SEED + STUDIES - 1}) unless a table says
otherwise; ± is their standard deviation. Two equal items tie with chance {TIES:g}. SRCC is with the judge's own true
scores.
"""


def main() -> None:
    parts = [HEAD, _sharpness()]
    grid = {(spread, 0.0): _studies(spread=spread) for spread in SPREADS}
    grid |= {(MODEL, lapses): _studies(spread=MODEL, lapses=lapses) for lapses in LAPSES}
    parts += [_grid(grid), _curves(grid), _methods(grid), _coverage(grid), _sizes(), _stopping()]
    OUT.write_text("\n".join(parts), encoding="utf-8")
    print(f"wrote {OUT.name}")


def _studies(studies: int = STUDIES, **changes: object) -> list[Rehearsal]:
    print(changes, flush=True)
    fixed = {"items": ITEMS, "pool": POOL, "opponents": OPPONENTS, "ties": TIES}
    seeds = range(SEED, SEED + studies)
    return [rehearse_bridge(RehearsalSettings.model_validate(fixed | changes | {"seed": s})) for s in seeds]


def _sharpness() -> str:
    """The paper's figure for a model as judge, and the spread that reproduces it."""
    rows = []
    for spread in (BLUNT, 3.0, 3.5, MODEL, 4.5):
        row = comparison_budget(50, 1, spread, fractions=[612 / 1225], studies=400, rng=np.random.default_rng(0))[0]
        rows.append([f"{spread:g}", f"{row.to_full.value:.4f}", f"{row.to_truth.value:.3f}", f"{_right(spread):.2f}"])
    words = (
        "PPaint lets a model compare 50 paintings: 612 of the 1,225 pairs order them as all pairs do with SRCC .986.\n"
        f"A judge with a spread of {MODEL:g} logits does the same (no ties) and stands for that model. {BLUNT:g} is\n"
        "a blunter judge, 0.5 near guessing. Share: how often the judge prefers the better of two random items."
    )
    head = ["spread", "SRCC to all pairs", "SRCC to truth", "share"]
    return f"## How sharp is a judge?\n\n{words}\n\n{_table(head, rows)}"


def _right(spread: float) -> float:
    """Mean of S(|d|) over d ~ N(0, 2 spread^2)."""
    d = np.abs(np.random.default_rng(0).normal(0, np.sqrt(2) * spread, 1_000_000))
    return float(expit(d).mean())


def _grid(grid: dict[tuple[float, float], list[Rehearsal]]) -> str:
    head = ["spread", "lapses", "SRCC, 10 random", "coverage", "SRCC, 10 adaptive", "adaptive opponents for the same",
            "of placement calls", "of all calls"]  # fmt: skip
    rows = []
    for (spread, lapses), made in grid.items():
        names = ("adaptive_opponents", "placement_share", "total_share")
        needed, *shares = ([getattr(one, name) for one in made if one.adaptive_opponents] for name in names)
        seldom = "" if len(needed) == len(made) else f" in {len(needed)} of {len(made)} studies"
        rows.append(
            [f"{spread:g}", f"{lapses:.0%}", _spread([one.srcc for one in made]), _mean([one.coverage for one in made]),
             _spread([one.curve[-1].adaptive for one in made]), _spread(needed, 1) + seldom,
             *(f"{np.mean(share):.0%}" for share in shares)]
        )  # fmt: skip
    words = (
        "Random opponents as in the paper, and how many adaptive ones reach the same SRCC on the same items and pool.\n"
        "What adaptive choice saves grows with the judge's sharpness: a blunt judge's answers tell little whomever an\n"
        "item meets. Where some studies never get there within ten, the figures are of those that do. Lapses (random\n"
        "answers) break the model: the order suffers, and intervals no longer cover."
    )
    return f"## Noise\n\n{words}\n\n{_table(head, rows)}"


def _curves(grid: dict[tuple[float, float], list[Rehearsal]]) -> str:
    head = ["opponents", "calls, one order", "both orders"]
    head += [f"{how}, spread {spread:g}" for spread in (BLUNT, MODEL) for how in ("random", "adaptive")]
    rows = []
    for k in range(OPPONENTS):
        points = {spread: [one.curve[k] for one in grid[spread, 0.0]] for spread in (BLUNT, MODEL)}
        calls = points[MODEL][0].calls
        srcc = [_mean([getattr(p, how) for p in points[s]]) for s in (BLUNT, MODEL) for how in ("random", "adaptive")]
        rows.append([str(k + 1), f"{calls:,}", f"{2 * calls:,}", *srcc])
    return f"## SRCC against calls\n\n{_table(head, rows)}"


def _methods(grid: dict[tuple[float, float], list[Rehearsal]]) -> str:
    rows = []
    for spread in (BLUNT, MODEL):
        for method in ("davidson", "bradley-terry", "elo"):
            made = grid[spread, 0.0] if method == "davidson" else _studies(spread=spread, method=method)
            srcc, covered = [one.srcc for one in made], [one.coverage for one in made]
            rows.append([f"{spread:g}", method, _spread(srcc), _mean(covered)])
    words = (
        "The order hardly depends on the method. Intervals do: with ties as half wins the latent scale is not the\n"
        "judge's (ties pull it together), and Elo also takes the pool as exact. Coverage: of the judge's latent scores."
    )
    return f"## The pool's scale\n\n{words}\n\n{_table(['spread', 'method', 'SRCC', 'coverage'], rows)}"


def _coverage(grid: dict[tuple[float, float], list[Rehearsal]]) -> str:
    rows = []
    for spread in (BLUNT, MODEL):
        adaptive = [one.coverage for one in _studies(spread=spread, adaptive=True)]
        lowest = min(x for x in adaptive if x is not None)
        rows.append(
            [f"{spread:g}", _mean([one.coverage for one in grid[spread, 0.0]]), _mean(adaptive), f"{lowest:.3f}"]
        )
    words = (
        "With a sharp judge adaptive intervals are a little short: probably because ten opponents close to an item\n"
        "leave it so certain that the pool's own errors, which these opponents share, begin to count."
    )
    head = ["spread", "random", "adaptive", "lowest study"]
    return f"## Coverage of 95% intervals\n\n{words}\n\n{_table(head, rows)}"


def _sizes() -> str:
    rows = []
    for pool, opponents in ((20, 5), (20, 10), (50, 5), (50, 20), (100, 5), (100, 10)):
        made = _studies(3, spread=MODEL, pool=pool, opponents=opponents)
        last = [one.curve[-1] for one in made]
        rows.append(
            [str(pool), str(opponents), f"{made[0].planned_one_order:,}", _spread([p.random for p in last]),
             _spread([p.adaptive for p in last])]
        )  # fmt: skip
    head = ["pool", "opponents", "calls, one order", "SRCC, random", "SRCC, adaptive"]
    return f"## Pool and opponents\n\nSpread {MODEL:g}, three studies each.\n\n{_table(head, rows)}"


def _stopping() -> str:
    rows = []
    for target in TARGETS:
        calls, srcc, most = zip(*(_stopped(target, seed) for seed in range(SEED, SEED + 3)))
        rows.append([f"{target:g}", f"{np.mean(calls):,.0f}", _spread(srcc), f"{np.mean(most):.0%}"])
    words = (
        f"Spread {MODEL:g}, three studies each: adaptive opponents, at most 20, until the posterior sd is below the\n"
        "target. It makes items equally certain; for the order alone the same number of opponents for all is cheaper."
    )
    head = ["target sd", "calls, one order", "SRCC", "items stopped early"]
    return f"## Stopping at a target\n\n{words}\n\n{_table(head, rows)}"


def _stopped(target: float, seed: int) -> tuple[int, float, float]:
    """Calls, SRCC, and the share of placed items that needed fewer than 20 opponents."""
    print(f"target {target}", flush=True)
    settings = RehearsalSettings(items=ITEMS, pool=POOL, opponents=20, ties=TIES, spread=MODEL, seed=seed)
    judge = draw_judge(settings, np.random.default_rng(seed))
    bridge = settings.bridge(adaptive=True).model_copy(update={"target_sd": target})
    report = run_bridge([str(item) for item in range(ITEMS)], judge, bridge).report
    srcc = spearmanr([row.value for row in report.rows], judge.truth).statistic
    early = np.mean([row.calls < 20 for row in report.rows if not row.pool])
    return report.accounting.asked, float(srcc), float(early)


def _mean(values: Sequence[float | None]) -> str:
    return f"{np.mean([value for value in values if value is not None]):.3f}"


def _spread(values: Sequence[float], digits: int = 3) -> str:
    return f"{np.mean(values):.{digits}f} ± {np.std(values, ddof=1):.{digits}f}"


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


if __name__ == "__main__":
    main()
