"""Candidates for preference pairs: what people judged, what fusing gave, or what a scorer says, pair by pair.

Items are paired within a prompt (or what else the study compares within), each prompt in one split (`fuse.splits`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from salon.errors import BadValue, TooFew, UnknownReference
from salon.evaluate.judges.judge_report import people_only
from salon.fuse.labels import LabelSettings, make_labels
from salon.fuse.splits import item_prompts, prompt_texts, split_items
from salon.judge.score import FOLDER, read_run, read_scores, scores_file, scores_there
from salon.select.pairs import Candidate, PairSettings
from salon.store.plain_table import read_plain
from salon.study import Study
from salon.study.scorer import ScorerCard
from salon.study.split import SPLITS

MOST_CANDIDATES = 5_000_000
Scored = dict[tuple[str, str], list[tuple[str, float, float | None]]]
"""By criterion and group: items with value and error."""


def vote_candidates(study: Study, settings: PairSettings, criteria: Sequence[str] = ()) -> list[Candidate]:
    """The pairs that people judged, by the majority of their votes."""
    shares = dict(zip(SPLITS, settings.shares))
    labels = make_labels(
        people_only(study), LabelSettings(ties="keep", seed=settings.seed, **shares), criteria=criteria
    )
    return [
        Candidate(
            criterion=row["criterion"], group=row["group"], split=row["split"], a=row["item_a"], b=row["item_b"],
            gap=(row["for_a"] - row["for_b"]) / row["votes"], error=1 / math.sqrt(row["votes"]), votes=row["votes"],
            text=row["text"] or "",
        )
        for row in labels.table.to_pylist()
    ]  # fmt: skip


def fused_candidates(study: Study, settings: PairSettings, file: Path, criteria: Sequence[str] = ()) -> list[Candidate]:
    """All pairs of items that `salon fuse` gave scores to, within a criterion and group."""
    known = set(study.ids("items").to_pylist())
    rows: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in read_plain(file, "scores", ("criterion", "group", "item", "value")).to_pylist():
        if row["item"] not in known:
            raise UnknownReference("scores of items of the study are needed", found=repr(row["item"]), where=str(file))
        if row["value"] is not None and (not criteria or row["criterion"] in criteria):
            rows.setdefault((str(row["criterion"]), str(row["group"])), []).append(row)
    scored = {
        key: [(row["item"], _turn(own) * row["value"], row.get("error")) for row in own] for key, own in rows.items()
    }
    return _all_pairs(study, settings, scored, where=str(file))


def _turn(rows: Sequence[Mapping[str, Any]]) -> float:
    """-1 where values fall as latent scores rise: on the raters' scale lower is better. Latent ones always rise."""
    if any(row.get("latent") is None for row in rows):
        return 1.0
    value, latent = np.array([(row["value"], row["latent"]) for row in rows], float).T
    return -1.0 if float((value - value.mean()) @ (latent - latent.mean())) < 0 else 1.0


def scorer_candidates(study: Study, settings: PairSettings, folder: Path, name: str) -> list[Candidate]:
    """All pairs of items of a group that a scorer gave numbers to, from its table in the study's folder."""
    file = scores_file(folder / FOLDER, name)
    if not file.is_file():
        known = scores_there(folder)
        raise UnknownReference(
            "a table of scores of the study is needed", found=repr(name), where=str(folder / FOLDER),
            remedy=f"salon score STUDY --scorer NAME writes one; there are {', '.join(known) or 'none'}",
        )  # fmt: skip
    run = read_run(file)
    card = ScorerCard() if run is None else run.card
    turn, criterion = 1.0 if card.higher_is_better else -1.0, card.criterion or name
    groups = dict(zip(study.ids("items").to_pylist(), study.item_groups.tolist()))
    names = study.ids("groups").to_pylist()
    scored: Scored = {}
    for row in read_scores(file).to_pylist():
        group = groups.get(row["item"], -1)
        if row["value"] is not None and group >= 0:
            one = (row["item"], turn * row["value"], row.get("sigma"))
            scored.setdefault((criterion, names[group]), []).append(one)
    return _all_pairs(study, settings, scored, where=str(file))


def _all_pairs(
    study: Study,
    settings: PairSettings,
    scored: Mapping[tuple[str, str], list[tuple[str, float, float | None]]],
    *,
    where: str,
) -> list[Candidate]:
    count = sum(len(rows) * (len(rows) - 1) // 2 for rows in scored.values())
    if not count:
        raise TooFew("two scored items of one prompt are needed", found="none", where=where)
    if count > MOST_CANDIDATES:
        raise BadValue(
            f"at most {MOST_CANDIDATES:,} candidates are looked at", found=f"{count:,}", where=where,
            remedy="a study that compares within prompts, or scores of fewer items",
        )  # fmt: skip
    split = split_items(study, study.item_groups, study.ids("groups"), settings.shares, seed=settings.seed)
    of_item = dict(zip(study.ids("items").to_pylist(), split.of_item.tolist()))
    texts = _texts(study)
    return [
        Candidate(
            criterion=criterion, group=group, split=SPLITS[of_item[a]], a=a, b=b, gap=x - y, error=_joint(e, f),
            text=texts[a] if texts[a] == texts[b] else "",
        )
        for (criterion, group), rows in scored.items()
        for (a, x, e), (b, y, f) in combinations(rows, 2)
    ]  # fmt: skip


def _joint(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else math.hypot(one, other)


def _texts(study: Study) -> dict[str, str]:
    """The text of every item's prompt, empty where there is none."""
    texts = [*prompt_texts(study).to_pylist(), None]
    return {item: texts[n] or "" for item, n in zip(study.ids("items").to_pylist(), item_prompts(study).tolist())}
