"""Simulated designers who look at drawn posters: their answers follow what is truly wrong with each picture.

Every poster of a built-in generator carries a layout JSON with its planted defects. Designer r values poster i under
criterion c at

    u = sum over its defects of log(1 - w[c, kind] m[r, kind] strength)  +  t[r, style of i]  +  e

w are the weights of true quality (`render.quality`), m the designer's own sensitivity to each kind of defect
(log-normal with standard deviation `taste`, the same under all criteria), t a liking for styles (normal, `style_taste`)
and e noise that is new for every answer (normal, `noise`). With m = 1 and without t and e the order is that of true
quality. Comparisons have noise of their own for each pair and a lean to the left. The study says that nobody gave these
answers.

One cohort answers every criterion on every prompt, unless several are given (`DesignerCohort`).

`TrueQuality` is true quality as a scorer: an oracle that reads the layout beside a picture, and scorers of a known
accuracy made from it. They measure what a way of choosing brings, and how much of that a scorer that errs loses.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, Literal
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from salon.collect.simulate.panel import PlantedTruth
from salon.collect.simulate.settings import TRUTH
from salon.errors import DesignError
from salon.generate import layout_beside
from salon.render import DEFECTS, WEIGHTS, Layout
from salon.store import Place, open_study, read_json
from salon.study import (
    Cohort,
    Comparison,
    Design,
    Item,
    Judgment,
    Noun,
    Part,
    Prompt,
    Ranking,
    Rater,
    Rating,
    ScorerCard,
    Signature,
    Study,
    builtin_criterion,
)

Floats = NDArray[np.float64]
FLAG = "taste/hallucination"
EXPECTED_DESIGNERS = 200
"""Designers that the agreement to expect is worked out with."""
STRONGEST = 0.97
"""The largest share of a criterion's worth that one defect can cost a designer."""


class DesignerSettings(Noun):
    """A panel of simulated designers."""

    raters: int = Field(5, ge=1, le=200, description="Designers; every one judges every prompt under every criterion.")
    protocol: Literal["rankings", "comparisons"] = Field("rankings", description="How they are asked.")
    taste: float = Field(0.35, ge=0, le=3, description="How much designers differ in what disturbs them (sd of logs).")
    style_taste: float = Field(0.12, ge=0, le=3, description="How much they differ in which styles they like (sd).")
    noise: float = Field(0.3, ge=0, le=10, description="Noise of a single answer (sd), in logs of quality.")
    lean: float = Field(
        0.05, ge=-1, le=1, description="Comparisons: head start of the left picture, in logs of quality."
    )
    flags: bool = Field(True, description="Also flag pictures for things nobody asked for: 0 none, 1 minor, 2 major.")
    seed: int = Field(2026, ge=0, description="Seed of all chance.")


@dataclass(frozen=True)
class DesignerCohort:
    """A cohort of designers, and what they are asked."""

    cohort: str = "designers"
    stem: str = "designer"
    """Their names are this and a number."""
    view: tuple[Part, ...] = ()
    """Parts of a prompt that they see; all of them when none are named."""
    prompts: Mapping[str, frozenset[str]] | None = None
    """Criterion to the prompts that are judged under it; every criterion on every prompt if None."""

    def criteria(self, prompt: str) -> list[str]:
        """Those that a prompt is judged under."""
        return [criterion for criterion in WEIGHTS if self.prompts is None or prompt in self.prompts.get(criterion, ())]


ONE_COHORT = (DesignerCohort(),)
"""One cohort, and all there is to ask."""


@dataclass(frozen=True)
class _PromptPosters:
    """The posters of one prompt as designers see them."""

    prompt: str
    items: tuple[str, ...]
    strengths: Floats
    """(items, defects)"""
    styles: tuple[str, ...]


def designers_study(
    folder: Place, settings: DesignerSettings | None = None, cohorts: Sequence[DesignerCohort] = ONE_COHORT
) -> Study:
    """The study in `folder` with the answers of simulated designers in the place of any it has.

    Only prompts with at least two drawn posters are judged; without any there is a DesignError.
    """
    chosen = settings or DesignerSettings()
    study = open_study(folder)
    posters = list(_prompts(study, Path(folder)))
    if not posters:
        raise DesignError(
            "posters with layout JSON are needed: simulated designers read what was planted in them",
            found="no prompt with two of them",
            where=str(folder),
            remedy="salon generate briefs --generator atelier --generator carnival -o STUDY",
        )
    judgments: dict[str, list[Any]] = {"rankings": [], "comparisons": [], "ratings": []}
    for cohort, panel in zip(cohorts, _panels(chosen, cohorts, posters)):
        for prompt in posters:
            for criterion in cohort.criteria(prompt.prompt):
                kind = "ratings" if criterion == FLAG else chosen.protocol
                if criterion != FLAG or chosen.flags:
                    judgments[kind] += panel.judged(criterion, prompt)
    return _build_study(study, chosen, cohorts, {kind: rows for kind, rows in judgments.items() if rows})


def designers_planted(
    folder: Place, settings: DesignerSettings | None = None, cohorts: Sequence[DesignerCohort] = ONE_COHORT
) -> tuple[PlantedTruth, ...]:
    """What was planted under each criterion: the mean Kendall tau of two designers' rankings, by a long simulation."""
    chosen = settings or DesignerSettings()
    posters = list(_prompts(open_study(folder), Path(folder)))
    many = chosen.model_copy(update={"raters": EXPECTED_DESIGNERS})
    truth = "orders follow the defects planted in the posters"
    truths = []
    for cohort, panel in zip(cohorts, _panels(many, cohorts, posters)):
        for criterion in WEIGHTS:
            prompts = [prompt for prompt in posters if criterion in cohort.criteria(prompt.prompt)]
            if criterion != FLAG and prompts:
                tau = panel.tau(criterion, prompts)
                truths.append(
                    PlantedTruth(criterion, law="planted defects", parameter=chosen.noise, tau=tau, truth=truth)
                )
    return tuple(truths)


def _panels(
    settings: DesignerSettings, cohorts: Sequence[DesignerCohort], posters: Sequence[_PromptPosters]
) -> list[_DesignerPanel]:
    styles = sorted({style for prompt in posters for style in prompt.styles})
    return [_DesignerPanel(settings, styles, cohort.stem, number) for number, cohort in enumerate(cohorts)]


def _build_study(
    study: Study, settings: DesignerSettings, cohorts: Sequence[DesignerCohort], judgments: Mapping[str, list[Judgment]]
) -> Study:
    protocol = "rank" if settings.protocol == "rankings" else "compare"
    raters = [
        Rater(id=name, cohort=cohort.cohort) for cohort in cohorts for name in _names(cohort.stem, settings.raters)
    ]
    tables = {kind: study.table(kind) for kind in ("prompts", "items")}
    note = "simulated from the defects planted in the posters"
    return Study.build(
        study.name,
        [builtin_criterion(id) for id in WEIGHTS if id != FLAG or settings.flags],
        tables={**tables, "raters": raters, **judgments},
        compare_within="prompt",
        cohorts=tuple(Cohort(id=cohort.cohort, protocol=protocol, view=cohort.view, note=note) for cohort in cohorts),
        design=Design(kind="complete", order_randomized=protocol == "compare" or None),
        simulated=True,
        note="SIMULATED: no person gave these answers; they follow the layout JSON of the posters.",
    )


# -- what they look at -----------------------------------------------------------------------------------------------


def _prompts(study: Study, folder: Path) -> Iterator[_PromptPosters]:
    by_prompt: dict[str, list[tuple[Item, Layout]]] = {}
    for item in study.nouns("items"):
        if item.prompt is not None and (layout := read_layout(folder, item)):
            by_prompt.setdefault(item.prompt, []).append((item, layout))
    for prompt, posters in by_prompt.items():
        if len(posters) > 1:
            defects = [{defect.kind: defect.strength for defect in layout.defects} for _, layout in posters]
            yield _PromptPosters(
                prompt,
                tuple(item.id for item, _ in posters),
                np.array([[strengths.get(kind, 0.0) for kind in DEFECTS] for strengths in defects]),
                tuple(layout.style for _, layout in posters),
            )


def read_layout(folder: Path, item: Item) -> Layout | None:
    """The layout JSON beside an item's picture; None for pictures that no built-in generator drew."""
    if item.image is None or not item.image.startswith("images/"):
        return None
    path = folder / "layouts" / Path(item.image).relative_to("images").with_suffix(".json")
    if not path.is_file():
        return None
    return Layout.parse(read_json(path, "a layout JSON is needed"), where=str(path))


# -- what they answer ------------------------------------------------------------------------------------------------


class _DesignerPanel:
    """Designers with their sensitivities, and one stream of chance for all their answers."""

    def __init__(self, settings: DesignerSettings, styles: list[str], stem: str, number: int) -> None:
        self.settings, self.styles = settings, styles
        self.names = _names(stem, settings.raters)
        self.rng = np.random.default_rng([settings.seed, number])  # of the first cohort as from the seed alone
        shape = (settings.raters, len(DEFECTS))
        self.sensitivity = np.exp(settings.taste * self.rng.standard_normal(shape) - settings.taste**2 / 2)
        self.liking = settings.style_taste * self.rng.standard_normal((settings.raters, len(styles)))

    def values(self, criterion: str, prompt: _PromptPosters) -> Floats:
        """(raters, items): what every designer thinks of every poster, before the noise of an answer."""
        weights = np.array([WEIGHTS[criterion].get(kind, 0.0) for kind in DEFECTS])
        cost = np.minimum(weights * self.sensitivity, STRONGEST)
        lost = np.log1p(-cost[:, None, :] * prompt.strengths[None]).sum(-1)
        liked = self.liking[:, [self.styles.index(style) for style in prompt.styles]]
        values: Floats = lost + (0.0 if criterion == FLAG else liked)
        return values

    def tau(self, criterion: str, prompts: Iterable[_PromptPosters]) -> float:
        """Mean Kendall tau over pairs of designers and prompts."""
        taus = []
        for prompt in prompts:
            values = self.values(criterion, prompt)
            noisy = values + self.settings.noise * self.rng.standard_normal(values.shape)
            i, j = np.triu_indices(len(prompt.items), 1)
            ahead = np.sign(noisy[:, i] - noisy[:, j])
            n = len(ahead)
            taus.append(((ahead.sum(0) ** 2 - n) / (n * (n - 1))).mean())  # of all pairs of designers at once
        return float(np.mean(taus))

    def judged(self, criterion: str, prompt: _PromptPosters) -> Iterable[Judgment]:
        values = self.values(criterion, prompt)
        if criterion == FLAG:
            return self._flags(values, prompt)
        if self.settings.protocol == "rankings":
            return self._rankings(criterion, values, prompt)
        return self._comparisons(criterion, values, prompt)

    def _rankings(self, criterion: str, values: Floats, prompt: _PromptPosters) -> Iterator[Ranking]:
        noisy = values + self.settings.noise * self.rng.standard_normal(values.shape)
        ranks = tuple(range(1, len(prompt.items) + 1))
        for name, order in zip(self.names, np.argsort(-noisy, axis=1)):
            yield Ranking(rater=name, criterion=criterion, items=tuple(prompt.items[i] for i in order), ranks=ranks)

    def _comparisons(self, criterion: str, values: Floats, prompt: _PromptPosters) -> Iterator[Comparison]:
        for name, own in zip(self.names, values):
            for i, j in combinations(range(len(prompt.items)), 2):
                left = "a" if self.rng.random() < 0.5 else "b"
                side = self.settings.lean if left == "a" else -self.settings.lean
                ahead = own[i] - own[j] + side + np.sqrt(2) * self.settings.noise * self.rng.standard_normal()
                yield Comparison(
                    rater=name, criterion=criterion, a=prompt.items[i], b=prompt.items[j],
                    outcome="a" if ahead > 0 else "b", left=left,
                )  # fmt: skip

    def _flags(self, values: Floats, prompt: _PromptPosters) -> Iterator[Rating]:
        """None, minor or major: freedom above .85, above .6, below; with noise."""
        noisy = np.exp(values + 0.3 * self.settings.noise * self.rng.standard_normal(values.shape))
        for name, own in zip(self.names, noisy):
            for item, free in zip(prompt.items, own):
                severity = 0.0 if free > 0.85 else 1.0 if free > 0.6 else 2.0
                yield Rating(rater=name, criterion=FLAG, item=item, value=severity)


def _names(stem: str, count: int) -> list[str]:
    width = len(str(count))
    return [f"{stem}-{number:0{width}}" for number in range(1, count + 1)]


# -- true quality as a scorer ------------------------------------------------------------------------------------------


def mean_quality(layout: str | None) -> float | None:
    """Mean true quality over criteria, from a layout; None where it does not say."""
    quality = json.loads(layout).get("quality") if layout else None
    return round(sum(quality.values()) / len(quality), 6) if quality else None


class TrueQuality:
    """Mean true quality of a poster over criteria, plus noise: `sd` times a normal number of its own for each item.

    `shift` is added to every score: it changes no order, and a way of choosing may not depend on it.
    """

    def __init__(self, sd: float = 0.0, *, seed: int = 0, shift: float = 0.0, name: str = TRUTH) -> None:
        self.sd, self.seed, self.shift, self.name = sd, seed, shift, name
        self.card = ScorerCard(measures="What a drawn poster is worth, from the flaws on record; an oracle.")
        self.signature = Signature(method=TRUTH, settings={"sd": sd, "shift": shift}, seed=seed)

    def score(self, items: Sequence[Item], prompts: Sequence[Prompt | None]) -> list[float | None]:
        """None for pictures without a layout that says how good they are."""
        return [self._score(item) for item in items]

    def _score(self, item: Item) -> float | None:
        quality = mean_quality(layout_beside(item.image)) if item.image else None
        return None if quality is None else quality + self.shift + self.sd * item_noise(item.id, self.seed)


def item_noise(item: str, seed: int) -> float:
    """A standard normal number that belongs to an item."""
    return float(np.random.default_rng([seed, crc32(item.encode())]).standard_normal())
