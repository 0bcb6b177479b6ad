"""What is known about the entries of the large board, held against what the board says of them."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from prove._board_runs import CLEAN, STRENGTHS, Made, columns
from salon.bench import entry_folder
from salon.bench.entry_files import read_answers
from salon.generate.houses import HOUSES, expected_quality
from salon.render import WEIGHTS, DefectKind
from salon.stats import Estimate, mean_interval, score_interval

Floats = NDArray[np.float64]
DRAWS, SEED = 2000, 8
ORACLE, CAPABILITY = "oracle", "capability"
WITHIN = 1e-9
"""Qualities nearer than this are the same."""


@dataclass(frozen=True)
class Known:
    """The board's entries with what was planted in them."""

    made: Made

    @cached_property
    def names(self) -> list[str]:
        """Entries in the order of the board."""
        return [one.name for one in self.made.board.entries]

    @cached_property
    def columns(self) -> dict[str, str]:
        """Columns of EPS and their criteria."""
        return columns()

    def values(self, entry: str, axis: str) -> dict[str, float]:
        """What each prompt adds to an axis, 0 to 1."""
        if axis == ORACLE:
            return self._oracle[entry]
        prompts = self.made.results[entry].prompts
        if axis == CAPABILITY:
            return {one.prompt: one.passed for one in prompts}
        return {one.prompt: one.eps[axis] for one in prompts if axis in one.eps}

    @cached_property
    def _oracle(self) -> dict[str, dict[str, float]]:
        """Whether all points of a prompt's picture hold by the record."""
        found = {}
        for name in self.names:
            entry = next(one for one in self.made.board.entries if one.name == name)
            prompt_of = {one.item: one.prompt for one in entry.pictures}
            fine: dict[str, bool] = {}
            for row in self.answers(name):
                if row["judge"] == "layout":
                    prompt = prompt_of[row["item"]]
                    fine[prompt] = fine.get(prompt, True) and row["said"] == "pass"
            found[name] = {prompt: float(holds) for prompt, holds in fine.items()}
        return found

    def answers(self, entry: str) -> list[dict[str, str]]:
        """Rows of the entry's answers."""
        rows: list[dict[str, str]] = read_answers(entry_folder(self.made.board, entry)).to_pylist()
        return rows

    @cached_property
    def quality(self) -> dict[str, dict[str, float]]:
        """Entry to criterion to the mean true quality of its posters, of prompts on which EPS counts."""
        found = {}
        suite = self.made.board.suite
        eligible = {one.prompt.id for one in suite.prompts if suite.tag_of(one.prompt.id).eps}
        for entry in self.made.board.entries:
            folder = entry_folder(self.made.board, entry.name)
            own = [_quality(folder, one.image) for one in entry.pictures if one.image and one.prompt in eligible]
            found[entry.name] = {id: float(np.mean([one[id] for one in own])) for id in WEIGHTS}
        return found


def _quality(folder: Path, image: str) -> dict[str, float]:
    place = folder / Path("layouts", *Path(image).parts[1:]).with_suffix(".json")
    quality: dict[str, float] = json.loads(place.read_text(encoding="utf-8"))["quality"]
    return quality


def difference(known: Known, one: str, other: str, axis: str) -> Estimate:
    """Mean over prompts of what one entry has more than another, -1 to 1; paired, so prompts cancel.

    PASS and FAIL have a score interval, as on the board; chances of EPS, which differ by little, a t interval.
    """
    first, second = known.values(one, axis), known.values(other, axis)
    apart = [first[prompt] - second[prompt] for prompt in first]
    if axis not in (CAPABILITY, ORACLE):
        return mean_interval(apart)
    halves = score_interval([(one + 1) / 2 for one in apart])
    low, high = (None, None) if halves.low is None else (2 * halves.low - 1, 2 * halves.high - 1)
    return Estimate(2 * halves.value - 1, low, high, halves.n, halves.unit, halves.level, halves.method)


# -- orders ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Order:
    """How far a column orders entries as what was planted does."""

    column: str
    criterion: str
    tau: float
    low: float
    high: float
    pairs: int
    """Pairs whose true qualities differ ..."""
    right: int
    """... of which so many are the right way round ..."""
    sure: int
    """... so many of them beyond their interval ..."""
    wrong: int
    """... and so many are the wrong way round beyond theirs."""


def order(known: Known, column: str, truth: Mapping[str, float], rng: np.random.Generator) -> Order:
    """One column against the qualities in `truth`; Kendall's tau-b with an interval from draws of prompts."""
    names = list(truth)
    prompts = list(known.values(names[0], column))
    x = np.array([[known.values(name, column)[prompt] for prompt in prompts] for name in names])
    y = np.array([truth[name] for name in names])
    drawn = x[:, rng.integers(len(prompts), size=(DRAWS, len(prompts)))].mean(axis=2)
    low, high = np.quantile(_tau(drawn, y), [0.025, 0.975])
    right = sure = wrong = pairs = 0
    for a, b in combinations(range(len(names)), 2):
        if abs(y[a] - y[b]) < WITHIN:
            continue
        better, worse = (names[a], names[b]) if y[a] > y[b] else (names[b], names[a])
        apart = difference(known, better, worse, column)
        pairs += 1
        right += apart.value > 0
        sure += apart.low is not None and apart.low > 0
        wrong += apart.high is not None and apart.high < 0
    return Order(
        column, known.columns[column], *map(float, (_tau(x.mean(axis=1), y), low, high)), pairs, right, sure, wrong
    )


def _tau(x: Floats, y: Floats) -> Floats:
    """Kendall's tau-b of values (entries,) or (entries, draws) with `y`."""
    a, b = np.triu_indices(len(y), 1)
    one, other = np.sign(x[a] - x[b]), np.sign(y[a] - y[b])
    return np.asarray((other @ one) / np.sqrt((one**2).sum(axis=0) * (other**2).sum()), np.float64)


def house_orders(known: Known) -> list[Order]:
    """Every column against what the six houses are expected to be worth under its criterion."""
    rng = np.random.default_rng(SEED)
    expected = {name: expected_quality(house) for name, house in HOUSES.items()}
    return [
        order(known, column, {name: expected[name][criterion] for name in HOUSES}, rng)
        for column, criterion in known.columns.items()
    ]


def field_orders(known: Known) -> list[Order]:
    """Every column against what was planted in the very posters of all entries."""
    rng = np.random.default_rng(SEED)
    return [
        order(known, column, {name: known.quality[name][criterion] for name in known.names}, rng)
        for column, criterion in known.columns.items()
    ]


# -- variants and their parent -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Variant:
    """A defect in all posters of the clean house: what each axis has less of."""

    kind: DefectKind
    strength: float
    planted: int
    """Posters of the suite in which it could be planted."""
    capability: Estimate
    oracle: Estimate
    eps: Estimate
    own: Estimate
    """The column of the criterion that the defect destroys most of."""
    criterion: str

    @property
    def seen_by(self) -> list[str]:
        """Axes on which the variant is below its parent beyond the interval."""
        axes = {"Capability": self.capability, "EPS": self.eps, self.criterion: self.own}
        return [name for name, one in axes.items() if one.high is not None and one.high < 0]

    @property
    def below_by_record(self) -> bool:
        """Whether it is below its parent by the oracle, beyond the interval."""
        return self.oracle.high is not None and self.oracle.high < 0

    @property
    def preferred_by(self) -> list[str]:
        """Axes on which it is above its parent beyond the interval: the axis is wrong there."""
        axes = {"Capability": self.capability, "EPS": self.eps, self.criterion: self.own}
        return [name for name, one in axes.items() if one.low is not None and one.low > 0]


def variants(known: Known, kinds: Sequence[DefectKind]) -> list[Variant]:
    """Every defect at every strength against the clean parent."""
    found = []
    column_of = {criterion: column for column, criterion in known.columns.items()}
    for kind in kinds:
        criterion = max(column_of, key=lambda id: WEIGHTS[id].get(kind, 0.0))
        for strength in STRENGTHS:
            name = f"{CLEAN}+{kind}@{strength:g}"
            axes = (CAPABILITY, ORACLE, "eps", column_of[criterion])
            less = [difference(known, name, CLEAN, axis) for axis in axes]
            found.append(Variant(kind, strength, _planted(known, name, kind), *less, criterion.removeprefix("taste/")))
    return found


def _planted(known: Known, name: str, kind: str) -> int:
    board = known.made.board
    entry = next(one for one in board.entries if one.name == name)
    places = [
        entry_folder(board, name) / Path("layouts", *Path(one.image).parts[1:]).with_suffix(".json")
        for one in entry.pictures
        if one.image
    ]
    records = (json.loads(place.read_text(encoding="utf-8"))["defects"] for place in places)
    return sum(any(defect["kind"] == kind for defect in defects) for defects in records)


# -- pixels and oracle -------------------------------------------------------------------------------------------------


def judged_alike(known: Known) -> dict[str, dict[str, list[bool]]]:
    """Kind of rule to prompt to whether pixels and record say the same, point by point; 'all' last."""
    kinds = {(point.prompt, point.id): (point.rule or {})["kind"] for point in known.made.board.suite.points}
    found: dict[str, dict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
    for entry in known.made.board.entries:
        prompt_of = {one.item: one.prompt for one in entry.pictures}
        said: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
        for row in known.answers(entry.name):
            said[row["item"], row["point"]][row["judge"]] = row["said"]
        for (item, point), by_judge in said.items():
            prompt = prompt_of[item]
            same = by_judge["pixels"] == by_judge["layout"]
            found[kinds[prompt, point]][prompt].append(same)
            found["all"][prompt].append(same)
    return {kind: dict(found[kind]) for kind in (*(one for one in found if one != "all"), "all")}
