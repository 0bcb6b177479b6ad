"""What of a studio.toml stays as it is once people have answered under it.

A renamed phase would ask its raters the same questions again; another protocol or other criteria would leave answers to
questions that nobody can find any more.
"""

from __future__ import annotations

from salon.collect.settings import FILE, StudioSettings
from salon.collect.settings_phase import Phase
from salon.errors import DesignError
from salon.store.database import Database


def check_goes_on(database: Database, before: StudioSettings, settings: StudioSettings) -> None:
    """DesignError when a cohort that was asked something would be asked it again, or under other terms."""
    asked = database.answered()
    busy = {one.cohort for one in database.raters() if one.id in asked}
    there = {cohort.id: {phase.id: phase for phase in cohort.phases} for cohort in settings.cohorts}
    for cohort in before.cohorts:
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
