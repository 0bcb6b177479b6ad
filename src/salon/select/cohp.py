"""Chain of human preference (CoHP): first who draws, then which picture, each choice made by scores.

    stage 1    every generator draws the prompt `tries` times; r_ij is the score of its picture j.
               The generator with the highest mean, argmax_i (1/N) sum_j r_ij, goes on.
    stage 2    `rounds` rounds of `batch` pictures by that generator. Round 1 starts from its best picture of stage 1,
               round k from the best picture of round k - 1, with noise at the strength of the round (.8 .8 .5 .5).
    answer     the best of everything seen, in both stages and by every generator.

The paper calls the stages model-wise and sample-wise; it does not say what round 1 starts from, the released code does.
Scores may have any sign. Equal ones: the earlier picture, the generator named first; both are declared.

The released code differs, and `variant="released"` repeats it to be compared: two tries, strengths .8 .8 .8 .5, and the
answer is kept only where it exceeds a running best that starts at 0, among pictures of stage 2 alone. With scores below
0 it therefore answers nothing.

What could not be made or scored: a generator's mean is over the pictures it has a score for, the others are counted
beside it; one without any cannot be chosen. A round without any scored picture leaves the next one the same start. A
prompt without any scored picture in stage 1 waits.

This module decides; it draws and scores nothing (`salon.select.cohp_run` does). Means of a report are over prompts,
with t intervals; a prompt without a number in a round is left out of that mean and counted.
Source: HPSv3, section 4.2, Eq. 5-6.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Final, Literal

import numpy as np
from pydantic import Field
from scipy.special import stdtrit

from salon.errors import BadValue
from salon.select.settings import CohpSettings
from salon.select.weights import ScorerColumn
from salon.stats import Estimate, mean_interval
from salon.study import Format, Noun, Prompt

LEVEL = 0.95


class ChainPicture(Noun):
    """One picture that was asked for."""

    item: str = Field(description="Id of the item.")
    generator: str = Field(description="Who drew it, without its round.")
    score: float | None = Field(None, description="Higher is better; null where there is none.")
    missing: str = Field("", description="Why it was not made, or has no score.")
    made: bool = Field(default=True, description="Whether there is a picture.")


class GeneratorMean(Noun):
    """How one generator did on one prompt in stage 1."""

    generator: str = Field(description="Who drew.")
    figure: Estimate | None = Field(description="Mean over its scored pictures; null where it has none.")
    asked: int = Field(description="Pictures asked for.")
    failed: int = Field(title="Not made", description="Pictures that were not made.")
    unscored: int = Field(title="No score", description="Pictures that were made and have no score.")


class ChainDecision(Noun):
    """What was decided after stage 1 (round 0) or after a round, and on what ground."""

    prompt: str = Field(description="Id of the prompt.")
    round: int = Field(ge=0, description="0 for the first stage.")
    generator: str = Field(description="Who draws the next round.")
    start: str = Field(description="The item that the next round starts from.")
    best: str | None = Field(description="The best item of this round; null where none has a score.")
    strength: float | None = Field(None, description="Strength of this round; null in stage 1, or when drawn anew.")
    began: str | None = Field(None, description="The item that this round started from.")
    seen: tuple[ChainPicture, ...] = Field(description="The pictures of the round.")
    means: tuple[GeneratorMean, ...] = Field(default=(), description="First stage: the mean score of each generator.")
    tied: tuple[str, ...] = Field((), description="Stage 1: generators tied with the chosen one.")
    why: str = Field(description="The ground, in a sentence.")


class ChainAnswer(Noun):
    """The picture that a chain ends with."""

    item: str | None = Field(description="Null where the released rule keeps none.")
    score: float | None = Field(description="Its score.")
    round: int | None = Field(description="The round it comes from.")
    generator: str | None = Field(description="Who drew it.")
    tied: tuple[str, ...] = Field((), description="Other items with the same score.")
    why: str = Field(description="The ground, in a sentence.")


def best_picture(pictures: Sequence[ChainPicture]) -> ChainPicture | None:
    """The highest score, the first of equals; None where there is none."""
    scored = [picture for picture in pictures if picture.score is not None]
    return max(scored, key=lambda picture: picture.score or 0.0, default=None)


def choose_generator(prompt: str, by_generator: Mapping[str, Sequence[ChainPicture]]) -> ChainDecision | None:
    """Stage 1: who goes on, by the pictures of each generator; None while no picture has a score."""
    means = tuple(_mean(name, pictures) for name, pictures in by_generator.items())
    scored_means = [mean for mean in means if mean.figure is not None]
    if not scored_means:
        return None
    chosen = max(scored_means, key=lambda mean: mean.figure.value if mean.figure else 0.0)
    start = best_picture(by_generator[chosen.generator])
    everything = tuple(mean for pictures in by_generator.values() for mean in pictures)
    best = best_picture(everything)
    assert start is not None
    assert best is not None
    tied = tuple(
        mean.generator for mean in scored_means if mean is not chosen and not _apart(by_generator, chosen, mean)
    )
    among = len(by_generator)
    value = chosen.figure.value if chosen.figure else 0.0
    ties = f"; no clear difference to {', '.join(tied)}" if tied else ""
    reason = f"{chosen.generator} has the highest mean of {among}, {value:.3g}{ties}"
    return ChainDecision(
        prompt=prompt, round=0, generator=chosen.generator, start=start.item, best=best.item, seen=everything,
        means=means, tied=tied, why=reason,
    )  # fmt: skip


def choose_start(
    before: ChainDecision, number: int, strength: float | None, pictures: Sequence[ChainPicture]
) -> ChainDecision:
    """Stage 2: what the round after `number` starts from."""
    best = best_picture(pictures)
    missing = sum(picture.score is None for picture in pictures)
    if best is None:
        why = f"none of {len(pictures)} pictures has a score: the next round has the same start"
    else:
        without = f", {missing} without one" if missing else ""
        why = f"the highest score of {len(pictures)} pictures{without}"
    return ChainDecision(
        prompt=before.prompt, round=number, generator=before.generator, start=best.item if best else before.start,
        best=best.item if best else None, strength=strength, began=before.start, seen=tuple(pictures), why=why,
    )  # fmt: skip


def choose_answer(decisions: Sequence[ChainDecision], settings: CohpSettings) -> ChainAnswer:
    """What a chain ends with: the best of everything seen, or what the released rule keeps."""
    if not decisions:
        raise BadValue("a chain that has begun is needed", found="no decision")
    pool = [(entry.round, picture) for entry in decisions for picture in entry.seen if picture.score is not None]
    if settings.variant == "released":
        pool = [(number, picture) for number, picture in pool if number > 0 and (picture.score or 0.0) > 0]
        if not pool:
            return ChainAnswer(item=None, score=None, round=None, generator=None, why="no score of stage 2 exceeds 0")
    number, best = max(pool, key=lambda entry: entry[1].score or 0.0)
    tied = tuple(picture.item for _, picture in pool if picture.score == best.score and picture.item != best.item)
    among = "scores above 0 in stage 2" if settings.variant == "released" else "scored pictures of both stages"
    equal = f"; the first of {len(tied) + 1} with the same score" if tied else ""
    return ChainAnswer(item=best.item, score=best.score, round=number, generator=best.generator, tied=tied,
                  why=f"the highest of {len(pool)} {among}{equal}")  # fmt: skip


# -- generators --------------------------------------------------------------------------------------------------------


def _scores(pictures: Sequence[ChainPicture]) -> list[float]:
    return [picture.score for picture in pictures if picture.score is not None]


def _mean(name: str, pictures: Sequence[ChainPicture]) -> GeneratorMean:
    values = _scores(pictures)
    failed = sum(not picture.made for picture in pictures)
    figure = mean_interval(values, level=LEVEL, unit="picture") if values else None
    return GeneratorMean(
        generator=name, figure=figure, asked=len(pictures), failed=failed,
        unscored=len(pictures) - len(values) - failed,
    )  # fmt: skip


def _apart(by_generator: Mapping[str, Sequence[ChainPicture]], first: GeneratorMean, second: GeneratorMean) -> bool:
    """Whether two generators can be told apart: Welch's interval of the difference leaves 0 out.

    Means of one picture cannot, nor can scores of which neither set varies: a spread that is not shown is not none.
    """
    x, y = (np.array(_scores(by_generator[each.generator])) for each in (first, second))
    if min(len(x), len(y)) < 2:
        return False
    difference = float(x.mean() - y.mean())
    a, b = (float(values.var(ddof=1)) / len(values) for values in (x, y))
    if a + b == 0:
        return False
    freedom = (a + b) ** 2 / (a**2 / (len(x) - 1) + b**2 / (len(y) - 1))
    return abs(difference) > float(stdtrit(freedom, (1 + LEVEL) / 2)) * float(np.sqrt(a + b))


# -- results -----------------------------------------------------------------------------------------------------------

COHP_FORMAT: Final = "salon.cohp/1"


class ChainLevel(Noun):
    """Where the chains stood after a round; stage 1 is round 0."""

    round: Annotated[int, Format("text")] = Field(description="Number of the round.")
    best: Estimate | None = Field(title="Best of the round", description="Mean score of the best picture of the round.")
    so_far: Estimate | None = Field(title="Best so far", description="Mean score of the best picture up to then.")
    true_best: Estimate | None = Field(None, description="Mean true quality of the best picture of the round.")
    true_so_far: Estimate | None = Field(
        None, title="True quality so far", description="Mean true quality of the best picture up to then."
    )
    missing: int = Field(title="Without", description="Prompts without a scored picture in this round.")


class PromptChain(Noun):
    """The chain of one prompt."""

    prompt: Prompt = Field(description="The prompt.")
    decisions: tuple[ChainDecision, ...] = Field(description="One for each round, in order.")
    answer: ChainAnswer | None = Field(description="Null while the chain waits.")
    waits: str = Field("", description="What it waits for; empty when it is done.")


class CohpReport(Noun):
    """The whole run."""

    format: Literal["salon.cohp/1"] = Field(COHP_FORMAT, description="Name and version of this shape.")
    study: str = Field(description="Folder of the pictures.")
    settings: CohpSettings = Field(description="How the chains run.")
    generators: tuple[str, ...] = Field(description="Who may draw.")
    columns: tuple[ScorerColumn, ...] = Field(description="The scores, and on which scale each is.")
    weights: dict[str, float] = Field(description="By criterion; they sum to 1.")
    scale: str = Field(description="What scores are measured in, in words.")
    prompts: int = Field(description="Prompts there are.")
    asked: int = Field(description="Pictures asked for.")
    failed: dict[str, int] = Field(description="Pictures that were not made, by kind.")
    unscored: int = Field(description="Pictures that were made and have no score.")
    chosen: dict[str, int] = Field(description="Prompts by the generator that was chosen.")
    not_apart: int = Field(description="Prompts whose chosen generator is tied with another.")
    answers: dict[int, int] = Field(description="Prompts by the round that their answer comes from.")
    empty_rounds: int = Field(description="Rounds without a scored picture: the next had the same start.")
    redrawn: tuple[str, ...] = Field(description="Generators that could not start from a picture, and drew anew.")
    waiting: dict[str, int] = Field(description="Prompts that are not done, by what they wait for.")
    levels: tuple[ChainLevel, ...] = Field(description="Where the chains stood after each round.")
    gain: Estimate | None = Field(description="Score of the answer less the best of stage 1, prompt by prompt.")
    true_gain: Estimate | None = Field(
        description="The same in true quality, where built-in generators drew the posters."
    )
    images: dict[str, str] = Field(description="Item to its path inside the study folder.")
    values: dict[str, dict[str, float]] = Field(description="Item to its scores by criterion.")
    truth: dict[str, float] = Field(description="Item to its true quality, where it is known.")
    policies: tuple[str, ...] = Field(description="How missing pictures and scores were treated.")
    notes: tuple[str, ...] = Field(description="What else must be known.")
    signature: str = Field(description="What reproduces the run, in one line.")
    chains: tuple[PromptChain, ...] = Field(description="One for each prompt.")

    @property
    def is_complete(self) -> bool:
        """Whether every chain went through all rounds."""
        return not self.waiting
