"""Can a scorer be gamed? The same items, altered: what every alteration does to their scores.

For item i, s_i is its score as it is and s'_i altered, both turned so that higher is better; w is the standard
deviation of the s_i of one prompt (pooled over prompts), the differences that a scorer is used to tell.

    change       mean of (s'_i - s_i) / w
    risen        share of items with s'_i > s_i
    overturned   share of pairs of one prompt, s_i < s_j, with s'_i > s_j: the loser, altered, beats the winner

Intervals: whole prompts drawn again. Those of one alteration hold together: with k strengths each is at the level
1 - (1 - level) / k. A *trick* does not raise the score where all intervals of `change` end below the margin; it does
where one lies wholly above 0; else the question is open. A *control* is noticed where the interval at the greatest
strength lies wholly below 0.

Assumptions: nobody was asked about the altered pictures. A scorer may be right to like a little more contrast; it is
for people to say, and a trick that raises scores names what to ask them.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from salon.errors import BadFile, BadValue, TooFew
from salon.stats.resample import SHARE, Ends, Resampling, bootstrap_totals
from salon.stats.result import Estimate
from salon.store.pictures import read_picture
from salon.study import Item, Prompt, Scorer, Study
from salon.study.scorer import ScorerCard
from salon.study.signature import Signature
from salon.train.probe_results import ProbeReport, ProbeRow, ProbeSettings, TrickVerdict
from salon.train.tricks import TRICKS, Trick

Floats = NDArray[np.float64]
Step = Callable[[str], None]


@dataclass(frozen=True)
class _Scene:
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

    `leave_out` names items that may not be used, those it was trained on. `step` hears what is being done.
    """
    settings = settings or ProbeSettings()
    tell = step or (lambda _: None)
    tell("as they are")
    scene, left_out = _scene(study, Path(folder), scorer, settings, leave_out)
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
        signature=_signature(study, scorer, settings, tricks),
    )


def _signature(study: Study, scorer: Scorer, settings: ProbeSettings, tricks: Sequence[Trick]) -> Signature:
    told = settings.model_dump(exclude={"seed"}) | {"tricks": len(tricks)}
    method = f"probe[{scorer.signature}]"
    return Signature(method=method, data=study.hash[:12], revision=study.revision, settings=told, seed=settings.seed)


# -- the items -------------------------------------------------------------------------------------------------------


def _scene(
    study: Study, folder: Path, scorer: Scorer, settings: ProbeSettings, leave_out: frozenset[str]
) -> tuple[_Scene, dict[str, int]]:
    every = list(study.nouns("items"))
    pictured = [item for item in every if item.image is not None]
    usable = [item for item in pictured if item.id not in leave_out]
    prompts = {prompt.id: prompt for prompt in study.nouns("prompts")}
    chosen = [item.model_copy(update={"image": str(folder / str(item.image))}) for item in _chosen(usable, settings)]
    given = [prompts.get(item.prompt or "") for item in chosen]
    found = scorer.score(chosen, given)
    able = [n for n, (item, value) in enumerate(zip(chosen, found)) if value is not None and _opens(item)]
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
    score = turn * np.array([found[n] for n in able], float)
    _, cluster = np.unique([item.prompt or item.id for item in items], return_inverse=True)
    return _Scene(items, [given[n] for n in able], cluster, score, _spread(score, cluster), turn), left_out


def _chosen(items: Sequence[Item], settings: ProbeSettings) -> list[Item]:
    """Whole prompts, drawn until no other fits, but one at least; in the order of the study."""
    of_prompt: dict[str, list[Item]] = {}
    for item in items:
        of_prompt.setdefault(item.prompt or item.id, []).append(item)
    names, room, kept = list(of_prompt), settings.items, set[str]()
    for place in np.random.default_rng(settings.seed).permutation(len(names)):
        if len(of_prompt[names[place]]) <= room or not kept:
            kept.add(names[place])
            room -= len(of_prompt[names[place]])
    return [item for item in items if (item.prompt or item.id) in kept]


def _opens(item: Item) -> bool:
    try:
        read_picture(Path(item.image or ""))
    except BadFile:
        return False
    return True


def _spread(score: Floats, cluster: NDArray[np.int64]) -> float:
    """Standard deviation within prompts, pooled; over all items where no prompt has two."""
    sizes = np.bincount(cluster)
    freedom = len(score) - len(sizes)
    middle = np.bincount(cluster, weights=score) / sizes
    squares = ((score - middle[cluster]) ** 2).sum() if freedom else ((score - score.mean()) ** 2).sum()
    spread = float(np.sqrt(squares / (freedom or len(score) - 1)))
    if not spread > 0:
        raise BadValue("a scorer that tells items apart is needed", found="the same score for all items of a prompt")
    return spread


# -- the alterations ---------------------------------------------------------------------------------------------------


def _altered_scores(scene: _Scene, scorer: Scorer, trick: Trick, strength: float, seed: int) -> Floats:
    """(items,) scores after the alteration, higher better; NaN where there is none."""
    with tempfile.TemporaryDirectory(prefix="salon-") as place:
        items = list(_altered(scene, trick, strength, seed, Path(place)))
        found = scorer.score(items, scene.prompts)
    return scene.turn * np.array([np.nan if value is None else value for value in found], float)


def _altered(scene: _Scene, trick: Trick, strength: float, seed: int, place: Path) -> Iterator[Item]:
    for number, (item, prompt) in enumerate(zip(scene.items, scene.prompts)):
        rng = np.random.default_rng([seed, number])
        image = trick.alter(read_picture(Path(item.image or "")).image, strength, prompt.view() if prompt else "", rng)
        path = place / f"{number}.png"
        image.save(path, compress_level=1)
        yield item.model_copy(update={"image": str(path)})


# -- the figures -------------------------------------------------------------------------------------------------------


def _row(
    scene: _Scene, trick: Trick, strength: float, altered: Floats, level: float, settings: ProbeSettings
) -> ProbeRow:
    known = ~np.isnan(altered)
    if not known.any():
        raise TooFew("scores of altered items are needed", found="none", where=f"{trick.words(strength)}")
    change = np.where(known, (altered - scene.score) / scene.spread, 0.0)
    risen = known & (altered > scene.score)
    pairs = _overturned(scene, altered)
    overturned = None
    if len(pairs[1]):
        cluster, counted = scene.cluster[pairs[0]], np.ones(len(pairs[1]))
        overturned = _mean(cluster, pairs[1], counted, level=level, settings=settings, ends=SHARE)
    return ProbeRow(
        trick=trick.name,
        kind=trick.kind,
        strength=strength,
        words=trick.words(strength),
        items=int(known.sum()),
        missing=int((~known).sum()),
        change=_mean(scene.cluster, change, known, level=level, settings=settings),
        risen=_mean(scene.cluster, risen, known, level=level, settings=settings, ends=SHARE),
        overturned=overturned,
    )


def _overturned(scene: _Scene, altered: Floats) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Of every pair of one prompt with a winner: the loser, and whether it wins once it is altered."""
    losers, won = [], []
    for members in (np.flatnonzero(scene.cluster == one) for one in range(scene.cluster.max() + 1)):
        lost = scene.score[members][:, None] < scene.score[members][None, :]
        lost &= ~np.isnan(altered[members])[:, None]
        loser, winner = np.nonzero(lost)
        losers.append(members[loser])
        won.append(altered[members[loser]] > scene.score[members[winner]])
    return np.concatenate(losers), np.concatenate(won)


def _mean(
    cluster: NDArray[np.int64],
    values: Floats | NDArray[np.bool_],
    counted: Floats | NDArray[np.bool_],
    *,
    level: float,
    settings: ProbeSettings,
    ends: Ends | None = None,
) -> Estimate:
    """Mean of the values that count; prompts are drawn again for the interval."""
    sums = [np.bincount(cluster, weights=part) for part in (values, counted)]
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
