"""The later choices in a decision log as a study: what check, fuse and train read.

A choice of one of n pictures says that the chosen one is better than each of the others, and nothing about those among
themselves: n - 1 comparisons. With two pictures that is the whole answer. With more, the n - 1 comparisons are one
answer and not n - 1 independent ones, so errors computed from them are too small; and the answer is no complete order,
so `salon check` counts it as incomplete.

Items are pictures under a prompt. Where the log holds no prompt, the pictures of a decision are a group of their own.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from salon.errors import BadFile, TooFew
from salon.select.service.decisions import Decision, Feedback, check_log, decision_lines, feedback_lines
from salon.store.atomic_files import put_file
from salon.store.folder import IMAGES, save_study
from salon.store.near_pictures import content_hash
from salon.study import Cohort, Comparison, Criterion, Design, Item, Prompt, Rater, Study

FEEDBACK_COHORT = "feedback"
FEEDBACK_NOTE = (
    "Choices people made after a scoring service had chosen. They saw what the model picked: use them to watch the "
    "model, and beside choices that no model led."
)


@dataclass(frozen=True)
class FeedbackStudy:
    """A log as a study, and what was counted on the way."""

    study: Study
    choices: int
    comparisons: int
    agreed: int
    """Choices that fell on the picture the service had chosen."""
    decided: int
    """Choices after a decision that had chosen a picture."""
    lost: int
    """Choices whose decision is no longer in the log."""
    pictures: Mapping[str, Path] = field(default_factory=dict)
    """By hash, the files of pictures that were found."""
    wanted: int = 0
    """Different pictures that the choices were among."""


def feedback_study(log: Path, *, name: str = "feedback", pictures: Path | None = None) -> FeedbackStudy:
    """The later choices of the log in the folder `log`; TooFew where there are none.

    A log holds no pictures. Files below `pictures` that it names by hash become the pictures of the items.
    """
    check_log(log)
    said = list(feedback_lines(log))
    asked = {one.decision for one in said}
    decisions = {one.id or "": one for one in decision_lines(log) if one.id in asked}
    known = [(one, decisions[one.decision]) for one in said if one.decision in decisions]
    if not known:
        raise TooFew(
            "at least one later choice is needed", found=f"{len(said)} in the log, none with its decision",
            where=str(log), remedy="send choices to POST /v1/feedback",
        )  # fmt: skip
    comparisons = list(_comparisons(known))
    decided = [(one, decision) for one, decision in known if decision.chosen is not None]
    agreed = sum(decision.pictures[decision.chosen or 0] == one.chosen for one, decision in decided)
    wanted = {sha for _, decision in known for sha in decision.pictures}
    files = _files_by_hash(pictures, wanted) if pictures is not None else {}
    items = {item.id: item for _, decision in known for item in _items(decision, files)}
    study = Study.build(
        name,
        [Criterion(id=id) for id in dict.fromkeys(one.criterion for one, _ in known)],
        tables={
            "prompts": list({prompt.id: prompt for _, one in known for prompt in [_prompt(one)]}.values()),
            "items": list(items.values()),
            "raters": [Rater(id=id, cohort=FEEDBACK_COHORT) for id in dict.fromkeys(one.rater for one, _ in known)],
            "comparisons": comparisons,
        },
        cohorts=(Cohort(id=FEEDBACK_COHORT, protocol="choose", note=FEEDBACK_NOTE),),
        design=Design(note="People answered where they liked, and saw what the service had chosen."),
        note=FEEDBACK_NOTE,
    )
    return FeedbackStudy(
        study, len(known), len(comparisons), agreed, len(decided), len(said) - len(known), files, len(wanted)
    )


def save_feedback(made: FeedbackStudy, folder: Path, *, overwrite: bool = False) -> None:
    """Write the study with the pictures that were found."""
    save_study(made.study, folder, overwrite=overwrite)
    for sha, path in made.pictures.items():
        put_file(folder / _place(sha, path), path.read_bytes())


def _comparisons(known: Iterable[tuple[Feedback, Decision]]) -> Iterator[Comparison]:
    """Chosen over each other one; a pair that the same rater meets again is a repeat."""
    met: Counter[tuple[str, ...]] = Counter()
    for said, decision in known:
        chosen = _item_id(decision, str(said.chosen))
        for sha in dict.fromkeys(decision.pictures):
            other = _item_id(decision, sha)
            if other == chosen:
                continue
            asked = (said.criterion, said.rater, *sorted((chosen, other)))
            yield Comparison(
                criterion=said.criterion, rater=said.rater, a=chosen, b=other, outcome="a", repeat=met[asked],
                rationale=said.reason, at=said.at,
            )  # fmt: skip
            met[asked] += 1


def _items(decision: Decision, files: Mapping[str, Path]) -> Iterator[Item]:
    for sha in decision.pictures:
        image = _place(sha, files[sha]) if sha in files else None
        yield Item(id=_item_id(decision, sha), prompt=_prompt(decision).id, image=image)


def _place(sha: str, path: Path) -> str:
    return f"{IMAGES}/{sha}{path.suffix.lower()}"


def _item_id(decision: Decision, sha: str) -> str:
    return f"{_prompt(decision).id}/{sha[:16]}"


def _prompt(decision: Decision) -> Prompt:
    if decision.prompt_sha256 is None and decision.prompt is None:
        shown = hashlib.sha256("\n".join(sorted(set(decision.pictures))).encode()).hexdigest()
        return Prompt(id=f"set-{shown[:12]}")
    digest = decision.prompt_sha256 or hashlib.sha256((decision.prompt or "").encode()).hexdigest()
    return Prompt(id=f"prompt-{digest[:12]}", text=decision.prompt)


def _files_by_hash(folder: Path, wanted: set[str]) -> Mapping[str, Path]:
    if not folder.is_dir():
        raise BadFile("a folder of pictures is needed", found="none there", where=str(folder))
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {sha: path for path in files if (sha := content_hash(path)) in wanted}
