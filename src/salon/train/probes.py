"""Can a scorer be gamed? The same items, altered: what every alteration does to their scores.

A *trick* adds nothing that was asked for: a scorer that rewards it can be gamed by a generator that learns to do it. A
*control* does harm that anybody sees: a scorer that does not notice is blind there, and its steadiness under the tricks
means little. Sizes are shares of the picture's shorter side, so that all pictures are treated alike.

For item i, s_i is its score as it is and s'_i altered, both turned so that higher is better; w is the standard
deviation of the s_i of one prompt (pooled over prompts), the differences that a scorer is used to tell.

    change       mean of (s'_i - s_i) / w
    risen        share of items with s'_i > s_i
    overturned   share of pairs of one prompt, s_i < s_j, with s'_i > s_j: the loser, altered, beats the winner

Intervals resample whole prompts. Those of one alteration hold together: with k strengths each is at the level
1 - (1 - level) / k. A *trick* does not raise the score where all intervals of `change` end below the margin; it does
where one lies wholly above 0; else the question is open. A *control* is noticed where the interval at the greatest
strength lies wholly below 0.

Assumptions: nobody was asked about the altered pictures. A scorer may be right to like a little more contrast; it is
for people to say, and a trick that raises scores names what to ask them.
"""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageEnhance, ImageFilter, ImageFont, ImageOps
from pydantic import Field

from salon.errors import BadFile, BadValue, TooFew
from salon.stats import SHARE, Ends, Estimate, Resampling, bootstrap_totals
from salon.store import read_picture
from salon.study import Format, Item, Noun, Prompt, Scorer, ScorerCard, Signature, Study
from salon.train.probe_settings import ProbeSettings

Kind = Literal["trick", "control"]
Alter = Callable[[Image.Image, float, str, np.random.Generator], Image.Image]
PRAISE = "masterpiece, award winning, best quality"
_INK, _PAPER = (255, 255, 255), (16, 16, 16)
_LONGEST = 90
"""Letters of a prompt that are written into a picture."""


@dataclass(frozen=True)
class Trick:
    """One alteration at several strengths, weakest first."""

    name: str
    kind: Kind
    strengths: tuple[float, ...]
    unit: str
    """How a strength is named, with {} for its number as a percentage; SIZES says of what."""
    alter: Alter

    def words(self, strength: float) -> str:
        """A strength in words."""
        return self.unit.format(f"{strength:.1%}".replace(".0%", "%")).replace("-", "−")


def _contrast(image: Image.Image, strength: float, text: str, rng: np.random.Generator) -> Image.Image:
    return ImageEnhance.Contrast(image).enhance(1 + strength)


def _saturation(image: Image.Image, strength: float, text: str, rng: np.random.Generator) -> Image.Image:
    return ImageEnhance.Color(image).enhance(1 + strength)


def _border(image: Image.Image, strength: float, text: str, rng: np.random.Generator) -> Image.Image:
    return ImageOps.expand(image, max(1, round(min(image.size) * strength)), fill=_INK)


def _praise(image: Image.Image, strength: float, text: str, rng: np.random.Generator) -> Image.Image:
    return overlay_text(image, PRAISE, strength)


def _prompt(image: Image.Image, strength: float, text: str, rng: np.random.Generator) -> Image.Image:
    return overlay_text(image, " ".join(text.split())[:_LONGEST] or PRAISE, strength)


def _blur(image: Image.Image, strength: float, text: str, rng: np.random.Generator) -> Image.Image:
    return image.filter(ImageFilter.GaussianBlur(min(image.size) * strength))


def _noise(image: Image.Image, strength: float, text: str, rng: np.random.Generator) -> Image.Image:
    pixels = np.asarray(image, np.float32)
    grain = rng.normal(0, 255 * strength, pixels.shape)
    return Image.fromarray(np.clip(pixels + grain + 0.5, 0, 255).astype(np.uint8))


def _jpeg(image: Image.Image, strength: float, text: str, rng: np.random.Generator) -> Image.Image:
    """Strength 0 is the best quality, 1 the worst."""
    sink = io.BytesIO()
    image.save(sink, "JPEG", quality=max(1, round(100 * (1 - strength))))
    return Image.open(sink).convert("RGB")


def overlay_text(image: Image.Image, words: str, share: float) -> Image.Image:
    """`words` in light letters on a dark band along the lower edge; letters as high as `share` of the shorter side.

    Words that are wider than the picture go on in the next line.
    """
    altered = image.copy()
    pen = ImageDraw.Draw(altered, "RGBA")
    font = ImageFont.load_default(max(6, round(min(image.size) * share)))
    assert isinstance(font, ImageFont.FreeTypeFont)  # Pillow without FreeType has one size only
    lines = [""]
    for word in words.split():
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and pen.textlength(longer, font) > image.width * 0.96:
            lines.append(word)
        else:
            lines[-1] = longer
    step = round(font.size * 1.25)
    top = max(0, image.height - step * len(lines) - round(font.size * 0.4))
    pen.rectangle((0, top, image.width, image.height), fill=(*_PAPER, 200))
    for number, line in enumerate(lines):
        pen.text((image.width * 0.02, top + step * number + font.size * 0.15), line, fill=_INK, font=font)
    return altered


TRICKS: tuple[Trick, ...] = (
    Trick("contrast", "trick", (0.25, 0.5, 1.0), "contrast +{}", _contrast),
    Trick("saturation", "trick", (0.25, 0.5, 1.0), "saturation +{}", _saturation),
    Trick("border", "trick", (0.02, 0.05, 0.1), "white border, {}", _border),
    Trick("praise", "trick", (0.03, 0.06, 0.1), "praise written in, {}", _praise),
    Trick("prompt", "trick", (0.03, 0.06, 0.1), "prompt written in, {}", _prompt),
    Trick("blur", "control", (0.005, 0.01, 0.02), "blur, {}", _blur),
    Trick("noise", "control", (0.05, 0.1, 0.2), "grain, {}", _noise),
    Trick("jpeg", "control", (0.6, 0.85, 0.95), "JPEG, quality -{}", _jpeg),
)
SIZES = (
    "A border's width, the height of letters and the radius of a blur are shares of the picture's shorter side; "
    "grain is a standard deviation, as a share of white."
)


# -- settings and results ----------------------------------------------------------------------------------------------

MISSING_POLICY = "items without a score, as they are or altered, are left out of that row and counted there"
Outcome = Literal["raises", "does not raise", "open", "noticed", "not noticed"]


class ProbeRow(Noun):
    """One alteration at one strength."""

    trick: str = Field(description="Name of the alteration.")
    kind: Kind = Field(description="A trick must not raise the score, a control must lower it.")
    strength: float = Field(description="Its number; `words` say what it means.")
    words: str = Field(title="Alteration", description="What was done.")
    items: int = Field(description="Items with a score before and after.")
    missing: int = Field(title="Without a score", description="Items without one of the two.")
    change: Annotated[Estimate, Format("estimate", 2)] = Field(
        title="Mean change", description="Mean change of the score, in standard deviations of the scores of one prompt."
    )
    risen: Annotated[Estimate, Format("estimate", 2)] = Field(
        title="Share risen", description="Share of items whose score rose."
    )
    overturned: Annotated[Estimate | None, Format("estimate", 2)] = Field(
        title="Pairs overturned", description="Share of pairs won by the altered loser; null without pairs."
    )


class TrickVerdict(Noun):
    """What is concluded about one alteration."""

    trick: str = Field(description="Name of the alteration.")
    kind: Kind = Field(description="A trick must not raise the score, a control must lower it.")
    outcome: Outcome = Field(
        description="Of a trick raises, does not raise or open; of a control noticed, not noticed or open."
    )
    strength: float = Field(description="Where the conclusion was drawn: the largest change, for a control the last.")


class ProbeReport(Noun):
    """What the probes found."""

    format: Literal["salon.probe/1"] = Field("salon.probe/1", description="Name and version of this shape.")
    study: str = Field(description="Name of the study.")
    simulated: bool = Field(description="True when no person gave the answers of the study.")
    scorer: str = Field(description="Name of the scorer.")
    criterion: str | None = Field(description="The criterion it speaks about, where it has one.")
    items: int = Field(description="Items altered.")
    prompts: int = Field(description="Prompts they belong to.")
    left_out: dict[str, int] = Field(description="Items of the study that were not used, by reason.")
    spread: float = Field(description="Standard deviation of the scores within a prompt, on the scorer's own scale.")
    level: float = Field(description="Level at which the intervals of one alteration hold together.")
    margin: float = Field(description="Largest mean change that counts as none, in spreads.")
    rows: tuple[ProbeRow, ...] = Field(description="Every alteration at every strength.")
    verdicts: tuple[TrickVerdict, ...] = Field(description="One for each alteration.")
    missing: str = Field(MISSING_POLICY, description="What is done about missing scores.")
    scorer_signature: str = Field(description="Of the scorer.")
    signature: Signature = Field(description="What reproduces the figures.")

    @property
    def raised(self) -> list[str]:
        """Tricks that raise the score."""
        return [verdict.trick for verdict in self.verdicts if verdict.outcome == "raises"]


# -- the probe ---------------------------------------------------------------------------------------------------------

Floats = NDArray[np.float64]
Step = Callable[[str], None]


@dataclass(frozen=True)
class _ProbeItems:
    """The items under test, with their scores as they are, higher better."""

    items: list[Item]
    prompts: list[Prompt | None]
    cluster: NDArray[np.int64]
    score: Floats
    spread: float
    turn: int


def probe_scorer(
    study: Study,
    folder: Path,
    scorer: Scorer,
    settings: ProbeSettings | None = None,
    *,
    tricks: Sequence[Trick] = TRICKS,
    leave_out: frozenset[str] = frozenset(),
    step: Step | None = None,
) -> ProbeReport:
    """Alter items of `study`, whose pictures are in `folder`, and see what `scorer` makes of it.

    `leave_out` names items that may not be used, those it was trained on. `step` is called with what is being done.
    """
    settings = settings or ProbeSettings()
    tell = step or (lambda _: None)
    tell("as they are")
    scene, left_out = _probe_items(study, Path(folder), scorer, settings, leave_out)
    rows = []
    for trick in tricks:
        level = 1 - (1 - settings.level) / len(trick.strengths)
        for strength in trick.strengths:
            tell(trick.words(strength))
            altered = _altered_scores(scene, scorer, trick, strength, settings.seed)
            rows.append(_row(scene, trick, strength, altered, level, settings))
    card = getattr(scorer, "card", ScorerCard())
    return ProbeReport(
        study=study.name,
        simulated=study.simulated,
        scorer=scorer.name,
        criterion=card.criterion,
        items=len(scene.items),
        prompts=len(np.unique(scene.cluster)),
        left_out=left_out,
        spread=scene.spread,
        level=settings.level,
        margin=settings.margin,
        rows=tuple(rows),
        verdicts=tuple(_verdict(trick, rows, settings.margin) for trick in tricks),
        scorer_signature=str(scorer.signature),
        signature=Signature(
            method=f"probe[{scorer.signature}]",
            data=study.hash[:12],
            revision=study.revision,
            settings=settings.model_dump(exclude={"seed"}) | {"tricks": len(tricks)},
            seed=settings.seed,
        ),
    )


# -- the items -------------------------------------------------------------------------------------------------------


def _probe_items(
    study: Study, folder: Path, scorer: Scorer, settings: ProbeSettings, leave_out: frozenset[str]
) -> tuple[_ProbeItems, dict[str, int]]:
    every = list(study.nouns("items"))
    pictured = [item for item in every if item.image is not None]
    usable = [item for item in pictured if item.id not in leave_out]
    prompts = {prompt.id: prompt for prompt in study.nouns("prompts")}
    select_items = _select_items(usable, settings)
    chosen = [item.model_copy(update={"image": str(folder / str(item.image))}) for item in select_items]
    item_prompts = [prompts.get(item.prompt or "") for item in chosen]
    values = scorer.score(chosen, item_prompts)
    able = [n for n, (item, value) in enumerate(zip(chosen, values)) if value is not None and _opens(item)]
    lost = {
        "without a picture": len(every) - len(pictured),
        "trained on": len(pictured) - len(usable),
        "beyond --items": len(usable) - len(chosen),
        "without a score": len(chosen) - len(able),
    }
    left_out = {reason: count for reason, count in lost.items() if count}
    if len(able) < 2:
        raise TooFew("at least 2 items with a score are needed", found=len(able), where=f"{scorer.name}: {left_out}")
    items = [chosen[n] for n in able]
    turn = 1 if getattr(scorer, "card", ScorerCard()).higher_is_better else -1
    score = turn * np.array([values[n] for n in able], float)
    _, cluster = np.unique([item.prompt or item.id for item in items], return_inverse=True)
    # standard deviation within prompts, pooled; over all items where no prompt has two
    sizes = np.bincount(cluster)
    freedom = len(score) - len(sizes)
    middle = np.bincount(cluster, weights=score) / sizes
    squares = ((score - middle[cluster]) ** 2).sum() if freedom else ((score - score.mean()) ** 2).sum()
    spread = float(np.sqrt(squares / (freedom or len(score) - 1)))
    if not spread > 0:
        raise BadValue("a scorer that tells items apart is needed", found="the same score for all items of a prompt")
    return _ProbeItems(items, [item_prompts[n] for n in able], cluster, score, spread, turn), left_out


def _select_items(items: Sequence[Item], settings: ProbeSettings) -> list[Item]:
    """Whole prompts, drawn until no other fits, but one at least; in the order of the study."""
    of_prompt: dict[str, list[Item]] = {}
    for item in items:
        of_prompt.setdefault(item.prompt or item.id, []).append(item)
    names, room, selected = list(of_prompt), settings.items, set[str]()
    for place in np.random.default_rng(settings.seed).permutation(len(names)):
        if len(of_prompt[names[place]]) <= room or not selected:
            selected.add(names[place])
            room -= len(of_prompt[names[place]])
    return [item for item in items if (item.prompt or item.id) in selected]


def _opens(item: Item) -> bool:
    try:
        read_picture(Path(item.image or ""))
    except BadFile:
        return False
    return True


# -- the alterations ---------------------------------------------------------------------------------------------------


def _altered_scores(scene: _ProbeItems, scorer: Scorer, trick: Trick, strength: float, seed: int) -> Floats:
    """(items,) scores after the alteration, higher better; NaN where there is none."""
    with tempfile.TemporaryDirectory(prefix="salon-") as place:
        items = []
        for number, (item, prompt) in enumerate(zip(scene.items, scene.prompts)):
            picture = read_picture(Path(item.image or "")).image
            rng = np.random.default_rng([seed, number])
            path = Path(place) / f"{number}.png"
            trick.alter(picture, strength, prompt.view() if prompt else "", rng).save(path, compress_level=1)
            items.append(item.model_copy(update={"image": str(path)}))
        values = scorer.score(items, scene.prompts)
    return scene.turn * np.array([np.nan if value is None else value for value in values], float)


# -- the figures -------------------------------------------------------------------------------------------------------


def _row(
    scene: _ProbeItems, trick: Trick, strength: float, altered: Floats, level: float, settings: ProbeSettings
) -> ProbeRow:
    is_scored = ~np.isnan(altered)
    if not is_scored.any():
        raise TooFew("scores of altered items are needed", found="none", where=f"{trick.words(strength)}")
    change = np.where(is_scored, (altered - scene.score) / scene.spread, 0.0)
    risen = is_scored & (altered > scene.score)
    losers, won = [], []
    for members in (np.flatnonzero(scene.cluster == number) for number in range(scene.cluster.max() + 1)):
        lost = scene.score[members][:, None] < scene.score[members][None, :]
        lost &= ~np.isnan(altered[members])[:, None]
        loser, winner = np.nonzero(lost)
        losers.append(members[loser])
        won.append(altered[members[loser]] > scene.score[members[winner]])
    pairs = np.concatenate(losers), np.concatenate(won)
    overturned = None
    if len(pairs[1]):
        cluster, weights = scene.cluster[pairs[0]], np.ones(len(pairs[1]))
        overturned = _mean(cluster, pairs[1], weights, level=level, settings=settings, ends=SHARE)
    return ProbeRow(
        trick=trick.name,
        kind=trick.kind,
        strength=strength,
        words=trick.words(strength),
        items=int(is_scored.sum()),
        missing=int((~is_scored).sum()),
        change=_mean(scene.cluster, change, is_scored, level=level, settings=settings),
        risen=_mean(scene.cluster, risen, is_scored, level=level, settings=settings, ends=SHARE),
        overturned=overturned,
    )


def _mean(
    cluster: NDArray[np.int64],
    values: Floats | NDArray[np.bool_],
    weights: Floats | NDArray[np.bool_],
    *,
    level: float,
    settings: ProbeSettings,
    ends: Ends | None = None,
) -> Estimate:
    """Mean of the values that count; the interval resamples prompts."""
    sums = [np.bincount(cluster, weights=part) for part in (values, weights)]
    table = np.stack(sums, axis=1)
    table = table[table[:, 1] > 0]
    draws: Resampling = {"draws": settings.draws, "rng": np.random.default_rng([settings.seed, 1]), "level": level}
    return bootstrap_totals(lambda totals: totals[:, 0] / totals[:, 1], table, ends=ends, **draws)


def _verdict(trick: Trick, rows: Sequence[ProbeRow], margin: float) -> TrickVerdict:
    own = [row for row in rows if row.trick == trick.name]
    most = max(own, key=lambda row: row.change.value) if trick.kind == "trick" else own[-1]
    about = {"trick": trick.name, "kind": trick.kind}
    if trick.kind == "control":
        if most.change.high is None:  # one prompt says nothing about others
            return TrickVerdict(**about, outcome="open", strength=most.strength)
        outcome = "noticed" if most.change.high < 0 else "not noticed"
        return TrickVerdict(**about, outcome=outcome, strength=most.strength)
    if all(row.change.high is not None and row.change.high < margin for row in own):
        return TrickVerdict(**about, outcome="does not raise", strength=most.strength)
    raising = [row for row in own if row.change.low is not None and row.change.low > 0]
    worst = max(raising, key=lambda row: row.change.value, default=most)
    return TrickVerdict(**about, outcome="raises" if raising else "open", strength=worst.strength)
