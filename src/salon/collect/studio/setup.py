"""Opening a studio from its folder, and changing its settings while it runs.

The study goes into the database once, and studio.toml is written where there is none. A new studio.toml is checked
whole before anything changes. Answers that were given stay true: a cohort that was asked something keeps its phases,
each with its protocol and its criteria. A renamed phase would ask its raters the same questions again. Everything else
may change: times, texts, checks, designs, stop rules, cohorts and phases to come.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import tomli_w

from salon.collect.plan import StudioPlan, check_views, join_designs, make_plan, questions_within, study_design
from salon.collect.questions import Sentences, criterion_question
from salon.collect.settings import FILE, Phase, StudioSettings, Times, read_settings, read_settings_file
from salon.collect.studio.adjudication import check_cohorts
from salon.collect.studio.studio import Studio
from salon.errors import BadValue, DesignError, SalonError
from salon.store import DATABASE, Database, open_database, open_study, present_folder, save_study, whole_file
from salon.study import JUDGMENTS, Criterion, Study, builtin_criterion, matching_criteria


def check_answered_phases(database: Database, before: StudioSettings, settings: StudioSettings) -> None:
    """DesignError when a cohort that was asked something would be asked it again, or under other terms."""
    answered = database.answered()
    busy = {rater.cohort for rater in database.raters() if rater.id in answered}
    there = {cohort.id: {phase.id: phase for phase in cohort.phases} for cohort in settings.cohorts}
    for cohort in before.cohorts:
        if cohort.id not in busy:
            continue
        if cohort.id not in there:
            raise _stays_error(f"cohort {cohort.id!r}", "it is gone")
        for phase in cohort.phases:
            after = there[cohort.id].get(phase.id)
            where = f"phase {phase.id!r} of cohort {cohort.id!r}"
            if after is None:
                raise _stays_error(where, "it is gone")
            if _phase_terms(after) != _phase_terms(phase):
                raise _stays_error(where, "another protocol or other criteria")


def _phase_terms(phase: Phase) -> tuple[object, ...]:
    return phase.protocol, phase.criteria, phase.together


def _stays_error(what: str, change: str) -> DesignError:
    return DesignError(
        f"{what} has been asked already and stays as it was",
        found=change,
        where=FILE,
        remedy="add a new phase or cohort instead; times, texts, checks and stop rules may change",
    )


# -- opening -----------------------------------------------------------------------------------------------------------

_RATERS = 5
"""Raters that a new studio counts on."""
OVERALL = "hps/overall"
"""The criterion of a study that names none."""
_SETTINGS_HEAD = (
    "# How this studio works. Every key is described in docs/methods/collecting.md; change it, and serve again.\n\n"
)


@contextmanager
def open_studio(
    folder: Path, url: str | None = None, *, create: bool = True, cohort: str | None = None, check: bool = True
) -> Iterator[Studio]:
    """The studio of the study in `folder`, with the database at `url`, or else studio.db in the folder.

    The first time, the study is copied into the database and a studio.toml is written that asks about everything.
    Without `create` both must be there. Without `check` the tallies are taken as they are: for a worker that another
    process opened the studio for. A studio that could not open, or would not have the `cohort`, leaves nothing
    behind.
    """
    place = present_folder(folder)
    target = url or database_file(place)
    if create and not _is_open(target):
        settings, _ = first_plan(place)
        check_cohorts(settings)
        settings.cohort(cohort or settings.cohorts[0].id)
    with open_database(target, create=create) as database:
        if create and not database.has_study():
            database.put_study(study_to_collect(place))
        text = settings_text(place, database, create=create)
        settings = read_settings(text, where=str(place / FILE))
        before = database.settings()
        if before not in (None, text):  # somebody changed the file while the studio was closed
            check_answered_phases(database, read_settings(before), settings)
        studio = Studio(database, settings, place, check=check)
        if create:
            record_design(database, studio.settings)
        if create and before != text:
            database.put_settings(text)
        try:
            yield studio
        finally:
            studio.close()


def _is_open(target: str | Path) -> bool:
    """Whether a database holds a study already. If it cannot be read, opening it to write reports why."""
    with suppress(SalonError), open_database(target) as database:
        return database.has_study()
    return False


def first_plan(folder: Path) -> tuple[StudioSettings, StudioPlan]:
    """With what settings a studio would open for the first time, and what it would ask; nothing is written."""
    study = study_to_collect(folder)
    path = folder / FILE
    settings = read_settings_file(path) if path.exists() else read_settings(default_settings(study))
    plan = make_plan(study, settings)
    check_views(study, plan)
    return settings, plan


def study_to_collect(folder: Path) -> Study:
    """The study of a folder; one that names no criterion, as after `salon generate`, is asked which is preferred."""
    study = open_study(folder)
    if study.criteria:
        return study
    overall = builtin_criterion(OVERALL).model_copy(update={"view": ()})  # the prompt as it is, in parts or not
    return study.revised("asked for overall preference", criteria=(overall,))


def choose_criteria(folder: Path, patterns: Sequence[str]) -> None:
    """Write into a study without criteria which of the built-in ones are asked; BadValue where that is settled."""
    study = open_study(folder)
    if study.criteria or database_file(folder).exists() or (folder / FILE).exists():
        names = ", ".join(criterion.id for criterion in study.criteria)
        raise BadValue(
            "--criteria is for a study that names no criterion and was never served",
            found=f"a study that asks {names}" if names else "a studio in it",
            where=str(folder),
            remedy=f"edit [[criteria]] in study.toml, or delete {FILE} and {DATABASE} if nobody has answered yet",
        )
    chosen = tuple(dict.fromkeys(match for pattern in patterns for match in matching_criteria(pattern)))
    save_study(study.revised("criteria were chosen", criteria=chosen), folder, overwrite=True)


def describe_questions(folder: Path, settings: StudioSettings, criteria: Iterable[Criterion]) -> list[str]:
    """Each criterion with the question that raters read; a criterion that was not chosen is marked as such."""
    by_id = {criterion.id: criterion for criterion in criteria}
    words = Sentences(settings.language)
    phases = [phase for cohort in settings.cohorts for phase in cohort.phases]
    questions = dict.fromkeys((id, phase.protocol) for phase in phases for id in phase.criteria)
    lines = [f"asks {id}: {criterion_question(by_id[id], protocol, words)}" for id, protocol in questions]
    if not open_study(folder).criteria:
        first = f"delete {FILE} and {DATABASE} before anybody answers, and " if (folder / FILE).exists() else ""
        lines.append(f"nobody chose this criterion; to ask another one, {first}serve with --criteria taste/mood")
    return lines


def record_design(database: Database, settings: StudioSettings) -> None:
    """Keep with the study how it is collected from now on; answers collected otherwise are not forgotten."""
    study = database.read_study()
    design = study_design(settings).model_copy(update={"note": study.design.note})
    if any(study.counts.get(kind) for kind in JUDGMENTS):
        design = join_designs(study.design, design)
    database.put_design(design)


def database_file(folder: Path) -> Path:
    """The database in a study folder."""
    return folder.absolute() / DATABASE


def write_settings_for(folder: Path, minutes: float) -> None:
    """Write a studio.toml that asks a rater for about so many minutes; BadValue where there is one already."""
    path = folder / FILE
    if path.exists() or database_file(folder).exists():
        raise BadValue(
            "--minutes is for a studio that was never opened",
            found=f"a {FILE}" if path.exists() else "a database",
            where=str(folder),
            remedy=f"set questions_each of the phases in {path}",
        )
    if not minutes > 0:
        raise BadValue("--minutes: a number above 0 is needed", found=f"{minutes:g}")
    with whole_file(path) as file:
        file.write(default_settings(study_to_collect(folder), minutes).encode())


def settings_text(folder: Path, database: Database, *, create: bool) -> str:
    """The studio.toml of a folder; else the newest one the database knows; else, with `create`, a new one."""
    path = folder / FILE
    if path.is_file():
        return path.read_text(encoding="utf-8", errors="replace")
    text = database.settings() or default_settings(database.read_study())
    if create:
        with whole_file(path) as file:
            file.write(text.encode())
    return text


def default_settings(study: Study, minutes: float | None = None) -> str:
    """A studio.toml that asks one cohort about all items: pairs where there are any, else ratings.

    With `minutes`, a rater gets no more comparisons than fit, each pair about as often as any other.
    """
    pairs = any(count > 1 for count in _group_sizes(study).values())
    criteria = [criterion.id for criterion in study.criteria if pairs or criterion.scale]
    if not criteria:
        raise DesignError(
            "a studio needs a criterion to ask about",
            found="none that fits its items",
            where=f"study {study.name!r}",
            remedy="salon init --criteria adds one; single items need a criterion with a scale",
        )
    phase: dict[str, Any] = {"id": "main", "protocol": "compare" if pairs else "rate", "criteria": criteria}
    parts = {part for criterion in study.criteria if criterion.id in criteria for part in criterion.view}
    lacks_parts = any(not getattr(prompt, part) for prompt in study.nouns("prompts") for part in parts)
    if lacks_parts:
        phase["view"] = []  # prompts that are plain texts are shown whole
    if minutes is not None and pairs:
        _fit_minutes(phase, study, minutes)
    record = {"seed": 0, "language": "en", "cohorts": [{"id": "raters", "raters": _RATERS, "phases": [phase]}]}
    return _SETTINGS_HEAD + tomli_w.dumps(record)


def _fit_minutes(phase: dict[str, Any], study: Study, minutes: float) -> None:
    """Bound the questions of a rater, for each criterion, and plant fewer repeats among fewer questions."""
    groups = _group_sizes(study)
    pairs = sum(count * (count - 1) // 2 for count in groups.values())
    each = questions_within(minutes / len(phase["criteria"]), Times(), len(groups))
    repeats = min(30, each // 10)
    ordinary = max(1, each - repeats)
    if ordinary < pairs:
        phase["questions_each"] = ordinary
        phase["stop"] = {"kind": "fixed", "raters_each": max(1, round(_RATERS * ordinary / pairs))}
    phase["checks"] = {"repeats": repeats}


def _group_sizes(study: Study) -> Counter[str | None]:
    """Items in each prompt, category, or all together."""
    within = study.compare_within
    items = study.nouns("items")
    if within == "all":
        return Counter("all" for _ in items)
    groups = Counter(getattr(item, within) for item in items)
    groups.pop(None, None)
    return groups


# -- changing settings -------------------------------------------------------------------------------------------------


def current_settings_text(studio: Studio) -> str:
    """The studio.toml that the studio works by."""
    return settings_text(studio.folder, studio.database, create=False)


def set_toml_values(text: str, values: Mapping[str, Any]) -> str:
    """A studio.toml with some keys set, such as `times.compare`; None takes a key out. Comments are not kept."""
    read_settings(text)  # somebody may have spoilt the file by hand: this says how
    record = tomllib.loads(text)
    for name, value in values.items():
        *path, last = name.split(".")
        place = record
        for part in path:
            place = place.setdefault(part, {})
        if value is None:
            place.pop(last, None)
        else:
            place[last] = value
    return tomli_w.dumps(record)


def change_settings(studio: Studio, text: str, *, by: str = "owner") -> Studio:
    """The studio as it works under `text`, which is kept; an error that names the key, and nothing changed, if not."""
    settings = read_settings(text)
    Sentences(settings.language)
    check_answered_phases(studio.database, studio.settings, settings)
    new_studio = Studio(studio.database, settings, studio.folder)
    with whole_file(studio.folder / FILE) as file:
        file.write(text.encode())
    studio.database.put_settings(text, by=by)
    record_design(studio.database, settings)
    new_studio.take_over(studio)
    return new_studio


def follow_settings(studio: Studio) -> Studio | None:
    """The studio as it works under the newest settings in its database; None where it does so already."""
    text = studio.database.settings()
    settings = None if text is None else read_settings(text)
    if settings is None or settings == studio.settings:
        return None
    newer = Studio(studio.database, settings, studio.folder)
    newer.take_over(studio)
    return newer
