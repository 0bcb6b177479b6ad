"""What `prove.board` makes: a field of entries, a model, a reference frozen from both, and the board with it.

Every step keeps what it has in the scratch folder, so that a proof which was stopped goes on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from salon.bench import (
    Board,
    EntryResult,
    JudgeTerms,
    Suite,
    entry_folder,
    field_reference,
    open_board,
    open_judges,
    open_suite,
    read_result,
    read_roles,
    run_suite,
    with_hashes,
    with_reference,
)
from salon.bench.suite import PreferenceRule
from salon.collect.simulate.designers import FLAG
from salon.collect.simulate.taste_drawn import draw_taste_study
from salon.generate import house_generator
from salon.generate.houses import HOUSES
from salon.judge.trained_model import trained_scorer
from salon.models import is_model
from salon.render import DEFECTS, WEIGHTS
from salon.store import is_study, open_study
from salon.study import Generator, Scorer
from salon.train import HeadSettings, train_study

HEADLINE = "taste/aesthetics-preference"
STRENGTHS = (0.4, 0.8)
CLEAN = "proof"
SETTINGS = HeadSettings(form="scalar", encoder="effnet-lite2+look")
LICENCE = "Apache-2.0"


@dataclass(frozen=True)
class Made:
    """The board, and what was trained for it."""

    board: Board
    results: dict[str, EntryResult]
    model: Path


def trained_model(scratch: Path, drawn: Path) -> Path:
    """Scalar heads on the drawn study in the shape of TASTE."""
    folder, study = scratch / "drawn-heads", drawn / "study"
    if not is_model(folder):
        if not is_study(study) or not open_study(study).counts.get("rankings"):
            draw_taste_study(study)
        report = train_study(open_study(study), study, SETTINGS, folder, overwrite=True)
        print(f"heads: validation accuracy {report.validation[0].accuracy.value:.3f}", flush=True)
    return folder


def columns() -> dict[str, str]:
    """Columns of EPS and their criteria: the headline first, then every other criterion that designers rank by."""
    others = [id for id in WEIGHTS if id not in (HEADLINE, FLAG)]
    return {"eps": HEADLINE} | {f"eps-{id.removeprefix('taste/')}": id for id in others}


def wide_suite() -> Suite:
    """The posters suite with a column of EPS for every criterion."""
    suite = open_suite("posters")
    rules = tuple(
        PreferenceRule(id=column, title=_title(column), criterion=criterion, headline=column == "eps")
        for column, criterion in columns().items()
    )
    return with_hashes(replace(suite, card=suite.card.model_copy(update={"preferences": rules})))


def _title(column: str) -> str:
    return "EPS" if column == "eps" else "EPS: " + column.removeprefix("eps-").replace("-", " ")


def field_names() -> list[str]:
    """The six houses, and the clean one with every defect at two strengths: 32 entries."""
    variants = [f"{CLEAN}+{kind}@{strength:g}" for kind in DEFECTS for strength in STRENGTHS]
    return [*HOUSES, *variants]


def made_board(scratch: Path, drawn: Path) -> Made:
    """Everything, from nothing or from where it stopped."""
    suite = wide_suite()
    field = _run(suite, scratch / "field", [house_generator(name) for name in field_names()])
    model = trained_model(scratch, drawn)
    scorers: dict[str, Scorer] = {name: trained_scorer(model, one) for name, one in columns().items()}
    scored = _run(suite, scratch / "scored", scorers=scorers, carry=field)
    note = "Heads trained on posters of four built-in houses that simulated designers ranked: no person was asked."
    frozen = with_reference(suite, field_reference(scored, note))
    board = _run(frozen, scratch / "board", scorers=scorers, carry=scored)
    results = {one.name: read_result(entry_folder(board, one.name)) for one in board.entries}
    return Made(board, {name: result for name, result in results.items() if result is not None}, model)


def _run(
    suite: Suite,
    place: Path,
    generators: Sequence[Generator] = (),
    *,
    scorers: Mapping[str, Scorer] | None = None,
    carry: Board | None = None,
) -> Board:
    with open_judges(read_roles([], suite), JudgeTerms(), place) as judges:
        done = run_suite(suite, place, generators, judges, scorers, carry=carry, licence=LICENCE, by="Salon")
    fresh = [one for one in done.entries if not one.before]
    print(f"{place.name}: {len(done.entries)} entries, {len(fresh)} of them now, {done.seconds:.0f} s", flush=True)
    for one in done.entries:
        if one.status == "provisional":
            print(f"  {one.entry}: {'; '.join(one.open)}", flush=True)
    return open_board(place)
