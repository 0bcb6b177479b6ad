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
from salon.collect.settings import FILE, read_settings
from salon.collect.studio.kept import check_goes_on
from salon.collect.studio.open import say_design, settings_text
from salon.collect.studio.studio import Studio
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
    check_goes_on(studio.database, studio.settings, settings)
    made = Studio(studio.database, settings, studio.folder)
    with whole_file(studio.folder / FILE) as file:
        file.write(text.encode())
    studio.database.put_settings(text, by=by)
    say_design(studio.database, settings)
    made.take_over(studio)
    return made
