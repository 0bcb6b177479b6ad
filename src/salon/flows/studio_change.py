"""A running studio under a new studio.toml: checked whole before anything changes, and kept in file and database.

Answers that were given stay true: a cohort that was asked something keeps its phases, each with its protocol and its
criteria. Everything else may change: times, texts, checks, designs, stop rules, cohorts and phases to come.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Any

import tomli_w

from salon.collect.language import Words
from salon.collect.settings import FILE, StudioSettings, read_settings
from salon.collect.settings_phase import Phase
from salon.errors import DesignError
from salon.flows.studio import Studio
from salon.flows.studio_open import say_design, settings_text
from salon.store.atomic import whole_file


def current_text(studio: Studio) -> str:
    """The studio.toml that the studio works by."""
    return settings_text(studio.folder, studio.database, create=False)


def with_values(text: str, values: Mapping[str, Any]) -> str:
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


def changed(studio: Studio, text: str, *, by: str = "owner") -> Studio:
    """The studio as it works under `text`, which is kept; an error that names the key, and nothing changed, if not."""
    settings = read_settings(text)
    Words(settings.language)
    _check_goes_on(studio, settings)
    made = Studio(studio.database, settings, studio.folder)
    with whole_file(studio.folder / FILE) as file:
        file.write(text.encode())
    studio.database.put_settings(text, by=by)
    say_design(studio.database, settings)
    made.take_over(studio)
    return made


def _check_goes_on(studio: Studio, settings: StudioSettings) -> None:
    asked = studio.database.answered()
    busy = {one.cohort for one in studio.database.raters() if one.id in asked}
    there = {cohort.id: {phase.id: phase for phase in cohort.phases} for cohort in settings.cohorts}
    for cohort in studio.settings.cohorts:
        if cohort.id not in busy:
            continue
        if cohort.id not in there:
            raise _stays(f"cohort {cohort.id!r}", "it is gone")
        for phase in cohort.phases:
            after = there[cohort.id].get(phase.id)
            where = f"phase {phase.id!r} of cohort {cohort.id!r}"
            if after is None:
                raise _stays(where, "it is gone")
            if _asks(after) != _asks(phase):
                raise _stays(where, "another protocol or other criteria")


def _asks(phase: Phase) -> tuple[object, ...]:
    return phase.protocol, phase.criteria, phase.together


def _stays(what: str, found: str) -> DesignError:
    return DesignError(
        f"{what} has been asked already and stays as it was",
        found=found,
        where=FILE,
        remedy="add a new phase or cohort instead; times, texts, checks and stop rules may change",
    )
