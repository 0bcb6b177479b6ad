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
from salon.store import IMAGES, content_hash, put_file, save_study
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
    choices = list(feedback_lines(log))
    decision_ids = {entry.decision for entry in choices}
    decisions = {entry.id or "": entry for entry in decision_lines(log) if entry.id in decision_ids}
    pairs = [(entry, decisions[entry.decision]) for entry in choices if entry.decision in decisions]
    if not pairs:
        raise TooFew(
            "at least one later choice is needed", found=f"{len(choices)} in the log, none with its decision",
            where=str(log), remedy="send choices to POST /v1/feedback",
        )  # fmt: skip
    comparisons = list(_comparisons(pairs))
    decided = [(entry, decision) for entry, decision in pairs if decision.chosen is not None]
    agreed = sum(decision.pictures[decision.chosen or 0] == entry.chosen for entry, decision in decided)
    hashes = {sha for _, decision in pairs for sha in decision.pictures}
    files: dict[str, Path] = {}
    if pictures is not None:
        if not pictures.is_dir():
            raise BadFile("a folder of pictures is needed", found="none there", where=str(pictures))
        paths = (path for path in sorted(pictures.rglob("*")) if path.is_file())
        files = {sha: path for path in paths if (sha := content_hash(path)) in hashes}
    items = {item.id: item for _, decision in pairs for item in _items(decision, files)}
    study = Study.build(
        name,
        [Criterion(id=id) for id in dict.fromkeys(entry.criterion for entry, _ in pairs)],
        tables={
            "prompts": list({prompt.id: prompt for _, entry in pairs for prompt in [_prompt(entry)]}.values()),
            "items": list(items.values()),
            "raters": [Rater(id=id, cohort=FEEDBACK_COHORT) for id in dict.fromkeys(entry.rater for entry, _ in pairs)],
            "comparisons": comparisons,
        },
        cohorts=(Cohort(id=FEEDBACK_COHORT, protocol="choose", note=FEEDBACK_NOTE),),
        design=Design(note="People answered where they liked, and saw what the service had chosen."),
        note=FEEDBACK_NOTE,
    )
    return FeedbackStudy(
        study, len(pairs), len(comparisons), agreed, len(decided), len(choices) - len(pairs), files, len(hashes)
    )


def save_feedback(feedback: FeedbackStudy, folder: Path, *, overwrite: bool = False) -> None:
    """Write the study with the pictures that were found."""
    save_study(feedback.study, folder, overwrite=overwrite)
    for sha, path in feedback.pictures.items():
        put_file(folder / _place(sha, path), path.read_bytes())


def _comparisons(pairs: Iterable[tuple[Feedback, Decision]]) -> Iterator[Comparison]:
    """Chosen over each other one; a pair that the same rater meets again is a repeat."""
    met: Counter[tuple[str, ...]] = Counter()
    for choice, decision in pairs:
        chosen = _item_id(decision, str(choice.chosen))
        for sha in dict.fromkeys(decision.pictures):
            rejected = _item_id(decision, sha)
            if rejected == chosen:
                continue
            question = (choice.criterion, choice.rater, *sorted((chosen, rejected)))
            yield Comparison(
                criterion=choice.criterion, rater=choice.rater, a=chosen, b=rejected, outcome="a", repeat=met[question],
                rationale=choice.reason, at=choice.at,
            )  # fmt: skip
            met[question] += 1


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
        digest_of_set = hashlib.sha256("\n".join(sorted(set(decision.pictures))).encode()).hexdigest()
        return Prompt(id=f"set-{digest_of_set[:12]}")
    digest = decision.prompt_sha256 or hashlib.sha256((decision.prompt or "").encode()).hexdigest()
    return Prompt(id=f"prompt-{digest[:12]}", text=decision.prompt)
