"""CoHP on drawn posters: what a chain brings by true quality, by round, by scorer, and against plain best of N.

    python -m prove.cohp          writes docs/evidence/cohp.md and cohp-rounds.svg

Two sets of generators, 20 briefs that name colors and places, two seeds of each, settings of the paper (4 generators x
4 tries, 4 rounds of 4). A prompt counts once, by the mean of its seeds. Scorers know true quality but for noise; how
often they are right about two posters of stage 1 is measured. Posters are planned and not painted: true quality is
known from their flaws.

    chain        the paper's: strengths .8 .8 .5 .5
    redrawn      the same seeds, drawn from text: strength 1, so the difference is what image-to-image brings
    spread       best of N at the same number of pictures: all generators draw 8 from text
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from prove._page import table, wrapped
from salon.collect.simulate.designers import item_noise
from salon.generate import read_prompts, take_category_turns
from salon.generate.houses import House, find_house, poster_seed, seeds_from
from salon.render import Seeds, read_brief
from salon.render.draw import drawn_quality
from salon.report import WIDE, charts, p_value, standalone_svg
from salon.select import CohpSettings
from salon.select.cohp import ChainDecision, ChainPicture, choose_answer, choose_generator, choose_start
from salon.stats import bootstrap_totals, holm, paired_difference, score_interval
from salon.stats.intervals import PairedDifference
from salon.study import Prompt

BRIEFS, DRAWS, SEEDS = 20, 2000, (0, 50_000)
LATER, APART = 1000, 100_000
"""Seeds from the first of a chain to the first of pictures that no chain draws, and between two generators."""
FLAWS = ("low-contrast@0.4", "bad-kerning@0.6", "crowding@0.5")
POOLS: dict[str, tuple[str, ...]] = {
    "houses": ("atelier", "carnival", "ledger", "mirage"),
    "apprentices": ("apprentice", *(f"apprentice+{flaw}" for flaw in FLAWS)),
}
"""Houses that are often flawless, and four that seldom are: there is room to get better."""
SDS = (0.0, 0.03, 0.08, 0.2)
"""Standard deviations of the scorers' noise; true quality itself has one of about 0.1."""
SEED_TRIES, SEED_ROUNDS = (11.34, 11.46, 11.68, 11.69), (11.59, 12.69, 12.64, 12.84)
"""HPSv3, Table 6: mean score by rounds of each stage."""
HOME = Path(__file__).parent.parent / "docs" / "evidence"


@dataclass
class Desk:
    """Plans posters of one prompt, each once, and knows what they are worth."""

    prompt: Prompt
    houses: Sequence[House]
    _drawn: dict[tuple, float] = field(default_factory=dict)
    seeds: dict[str, Seeds] = field(default_factory=dict)
    truth: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.brief = read_brief(self.prompt)

    def draw(self, house: House, seed: int, start: str | None = None, strength: float = 1.0) -> str:
        """The item that comes of an ask."""
        own = seed + APART * self.houses.index(house)  # variants of a house draw alike from one seed
        fresh = poster_seed(house.parent, self.prompt.id, own)
        seeds = Seeds(fresh) if start is None else seeds_from(self.seeds[start], fresh, strength)
        key = (house.name, seeds.own, *sorted(seeds.kept.items()))
        if key not in self._drawn:
            quality = drawn_quality(self.brief, house.habits, seed=seeds, knobs=house.knobs(seeds))
            self._drawn[key] = float(np.mean(list(quality.values())))
        item = f"{self.prompt.id}/{house.name}/{'/'.join(map(str, key[1:]))}"
        self.seeds[item], self.truth[item] = seeds, self._drawn[key]
        return item

    def seen(self, item: str, house: House, sd: float) -> ChainPicture:
        """It with its score: true quality and the noise that belongs to it."""
        score = self.truth[item] + (sd * item_noise(item, 0) if sd else 0.0)
        return ChainPicture(item=item, generator=house.name, score=score)

    def chain(self, settings: CohpSettings, sd: float) -> list[ChainDecision]:
        """Every decision of a chain."""
        first = range(settings.first_seed(0), settings.first_seed(0) + settings.each)
        tries = {one.name: [self.seen(self.draw(one, seed), one, sd) for seed in first] for one in self.houses}
        found = [choose_generator(self.prompt.id, tries)]
        assert found[0] is not None
        house = next(one for one in self.houses if one.name == found[0].generator)
        for number in range(1, settings.rounds + 1):
            before, strength, begin = found[-1], settings.strength(number), settings.first_seed(number)
            items = [self.draw(house, seed, before.start, strength) for seed in range(begin, begin + settings.batch)]
            found.append(choose_start(before, number, strength, [self.seen(item, house, sd) for item in items]))
        return found

    def spread(self, settings: CohpSettings, sd: float) -> str:
        """The best of as many pictures as a chain has, all drawn from text, by all generators alike."""
        each = settings.pictures(len(self.houses)) // len(self.houses)
        first, rest = settings.seed, settings.seed + LATER
        seeds = [*range(first, first + settings.each), *range(rest, rest + each - settings.each)]
        seen = [self.seen(self.draw(one, seed), one, sd) for one in self.houses for seed in seeds]
        return max(seen, key=lambda one: one.score or 0.0).item


def prompts(count: int = BRIEFS) -> list[Prompt]:
    """Briefs that name colors and a place, so that flaws of these can be seen."""
    briefs = [(one, read_brief(one)) for one in read_prompts("briefs")]
    return take_category_turns(
        [one for one, brief in briefs if brief.palette and (brief.headline_at or brief.align)], count
    )


def desks(pool: str, count: int = BRIEFS) -> list[Desk]:
    """One for each prompt."""
    houses = [find_house(name) for name in POOLS[pool]]
    return [Desk(prompt, houses) for prompt in prompts(count)]


# -- what a chain is worth ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Run:
    """Chains of all prompts under one scorer: true quality by prompt, seed and stretch."""

    tries: np.ndarray
    """Of the best picture of who is chosen, after 1 .. N tries."""
    rounds: np.ndarray
    """Of the best of each round."""
    so_far: np.ndarray
    """Of the answer when the chain stops after stage 1, round 1 .. S."""
    answer_scores: np.ndarray
    stage_scores: np.ndarray
    """Best score of stage 1 and of each round."""

    @property
    def answer(self) -> np.ndarray:
        """True quality of the answers."""
        return self.so_far[..., -1]


def run(all_desks: Sequence[Desk], settings: CohpSettings, sd: float) -> Run:
    """The chains of every prompt, from each seed."""
    rows = []
    for desk, seed in itertools.product(all_desks, SEEDS):
        found = desk.chain(settings.model_copy(update={"seed": seed}), sd)
        answers = [choose_answer(found[: number + 1], settings) for number in range(len(found))]
        best = [max(one.score or 0.0 for one in decision.seen) for decision in found]
        rows.append((
            [desk.truth[_after(found[0], count)] for count in range(1, settings.each + 1)],
            [desk.truth[one.best or one.start] for one in found[1:]],
            [desk.truth[one.item or ""] for one in answers],
            [answers[-1].score], best,
        ))  # fmt: skip
    return Run(*(np.array(column, float).reshape(len(all_desks), len(SEEDS), -1) for column in zip(*rows)))


def spreads(all_desks: Sequence[Desk], settings: CohpSettings, sd: float) -> np.ndarray:
    """True quality of plain best of N, by prompt and seed."""
    found = [[desk.truth[desk.spread(settings.model_copy(update={"seed": seed}), sd)] for seed in SEEDS]
             for desk in all_desks]  # fmt: skip
    return np.array(found, float)


def _after(first: ChainDecision, count: int) -> str:
    """The best picture of the generator that is chosen after `count` tries."""
    names = list(dict.fromkeys(one.generator for one in first.seen))
    few = {name: [one for one in first.seen if one.generator == name][:count] for name in names}
    found = choose_generator(first.prompt, few)
    assert found is not None
    return found.start


def pair_accuracy(all_desks: Sequence[Desk], settings: CohpSettings, sd: float) -> float:
    """How often the scorer is right about two posters of stage 1 that differ, of one prompt."""
    right = []
    for desk, first in itertools.product(all_desks, SEEDS):
        items = [desk.draw(one, first + number) for one in desk.houses for number in range(settings.each)]
        scored = [desk.seen(item, desk.houses[0], sd).score or 0.0 for item in items]
        truth = [desk.truth[item] for item in items]
        right += [
            (scored[i] - scored[j]) * (truth[i] - truth[j]) > 0
            for i, j in itertools.combinations(range(len(items)), 2)
            if truth[i] != truth[j]
        ]
    return float(np.mean(right))


# -- figures -----------------------------------------------------------------------------------------------------------


def level(values: np.ndarray) -> tuple[float, float, float]:
    """Mean over prompts of (prompts, seeds) values, with its interval."""
    data = np.column_stack([values.mean(1), np.ones(len(values))])
    mean = bootstrap_totals(lambda t: t[:, 0] / t[:, 1], data, draws=DRAWS, rng=np.random.default_rng(0))
    return mean.value, mean.low or mean.value, mean.high or mean.value


def told(values: np.ndarray) -> str:
    value, low, high = level(values)
    return f"{value:.3f} [{low:.3f}, {high:.3f}]"


def difference(one: np.ndarray, other: np.ndarray) -> PairedDifference:
    """Prompt by prompt, with its interval and p by flipping signs."""
    rows = np.arange(len(one))
    return paired_difference(one.mean(1), other.mean(1), rows, draws=DRAWS, rng=np.random.default_rng(0))


def apart(one: np.ndarray, other: np.ndarray) -> str:
    """The same as it is printed."""
    found = difference(one, other)
    shown = found.difference
    return f"{shown.value:+.3f} [{shown.low:+.3f}, {shown.high:+.3f}], p {p_value(found.p)}"


def wins(one: np.ndarray, other: np.ndarray) -> str:
    """Share of answers that are truly better, ties half, with a score interval over prompts."""
    found = score_interval(((one > other) + (one == other) / 2).mean(1))
    return f"{found.value:.0%} [{found.low:.0%}, {found.high:.0%}]" if found.low is not None else f"{found.value:.0%}"


def shares(values: Sequence[float]) -> list[str]:
    """Of the way from the first to the last."""
    first, last = values[0], values[-1]
    return [f"{(value - first) / (last - first):.2f}" if last != first else "–" for value in values]


# -- the page ----------------------------------------------------------------------------------------------------------


def shape_rows(found: Run) -> list[list[str]]:
    """By round, as shares of the gain: the seed's and ours."""
    tries, rounds = np.moveaxis(found.tries, -1, 0), np.moveaxis(found.so_far[..., 1:], -1, 0)
    columns = [shares(SEED_TRIES), shares(tries.mean((1, 2))), [told(one) for one in tries],
               shares(SEED_ROUNDS), shares(rounds.mean((1, 2))), [told(one) for one in rounds]]  # fmt: skip
    return [[str(number), *row] for number, row in enumerate(zip(*columns), 1)]


def pool_page(pool: str, settings: CohpSettings) -> tuple[str, dict[str, Run]]:
    """The tables of one set of generators."""
    all_desks, again = desks(pool), settings.model_copy(update={"strengths": "1"})
    runs, accuracy, rows, found = {}, {}, [], []
    for sd in SDS:
        accuracy[sd] = pair_accuracy(all_desks, settings, sd)
        chain, redrawn = run(all_desks, settings, sd), run(all_desks, again, sd)
        spread = spreads(all_desks, settings, sd)
        assert (chain.answer_scores[..., 0] >= chain.stage_scores.max(-1)).all()  # final >= best of every stage
        found += [difference(chain.answer, redrawn.answer).p, difference(chain.answer, spread).p]
        runs[f"{accuracy[sd]:.0%}"] = chain
        rows.append([f"{accuracy[sd]:.0%}", told(chain.so_far[..., 0]), told(chain.answer), told(redrawn.answer),
                     told(spread), apart(chain.answer, redrawn.answer), apart(chain.answer, spread)])  # fmt: skip
        print(pool, sd, rows[-1], flush=True)
    best, names = runs[next(iter(runs))], list(runs)
    against = [[f"{names[0]} against {name}", wins(best.answer, runs[name].answer),
                apart(best.answer, runs[name].answer)] for name in names[1:]]  # fmt: skip
    text = "\n".join([
        f"## {pool.capitalize()}: {', '.join(POOLS[pool])}\n",
        wrapped(f"{len(all_desks)} briefs, {len(SEEDS)} seeds. True quality of the answer, mean over prompts. "
                "Accuracy: how often the scorer is right about two posters of one prompt in stage 1.") + "\n",
        table(["accuracy", "best of stage 1 (16)", "chain (32)", "redrawn (32)", "spread (32)", "chain − redrawn",
               "chain − spread"], rows),
        wrapped(f"Of these {len(found)} differences {sum(p < 0.05 for p in holm(found))} stand at .05 after Holm's "
                "adjustment.") + "\n",
        wrapped("By round, the scorer that is always right: shares of the way from the first to the last number of the "
                "column, the paper's and ours, and our true quality.") + "\n",
        table(["round", "stage 1, paper", "stage 1", "true quality", "stage 2, paper", "stage 2", "true quality"],
              shape_rows(best)),
        wrapped("Chains by different scorers: answers that are truly better, ties half.") + "\n",
        table(["accuracy", "wins", "difference"], against),
        *(ladder(all_desks, settings) if pool == "apprentices" else ()),
    ])  # fmt: skip
    return text, runs


def ladder(all_desks: Sequence[Desk], settings: CohpSettings) -> list[str]:
    """Chains at other strengths."""
    found = {text: run(all_desks, settings.model_copy(update={"strengths": text}), 0.0).answer
             for text in ("0.2", "0.5", "0.8", "0.8,0.8,0.5", "1")}  # fmt: skip
    rows = [[text, told(values), apart(values, found["1"]) if text != "1" else "–"] for text, values in found.items()]
    told_first = "Other strengths, one for all rounds, and the paper's; the scorer that is always right:"
    return [wrapped(told_first) + "\n", table(["strengths", "true quality of the answer", "less strength 1"], rows)]


def drawing(runs: dict[str, dict[str, Run]]) -> str:
    """Best so far by round for each scorer of the set with room to get better."""
    curves = []
    for name, one in runs["apprentices"].items():
        levels = [level(one.so_far[..., number]) for number in range(one.so_far.shape[-1])]
        curves.append(charts.Curve(f"right {name}", list(range(len(levels))), [value for value, _, _ in levels]))
    title = "True quality of the best so far, by round"
    return charts.line_curves(curves, title=title, x_label="round", y_label="true quality", width=WIDE)


def main() -> int:
    """Write the page and the drawing."""
    settings = CohpSettings()
    pages, runs = [], {}
    for pool in POOLS:
        text, runs[pool] = pool_page(pool, settings)
        pages.append(text)
    head = "# CoHP on drawn posters\n\nWritten by `python -m prove.cohp`; see [chains](../methods/selection.md).\n\n"
    (HOME / "cohp.md").write_text(head + "\n".join(pages), encoding="utf-8")
    (HOME / "cohp-rounds.svg").write_text(standalone_svg(drawing(runs)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
