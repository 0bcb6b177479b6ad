"""All plugins of all kinds, beside the built-in names that they may not take."""

from __future__ import annotations

from typing import get_args

from salon.fuse.settings import Method
from salon.generate.named import builtin_generators
from salon.judge.scorers.named import builtin_scorers
from salon.store.formats import KINDS
from salon.study.noun import Noun
from salon.study.plugins import GROUPS, installed


class PluginLine(Noun):
    """An installed plugin."""

    group: str
    name: str
    place: str
    package: str | None
    refused: str | None


def builtin_words(group: str) -> list[str]:
    """Names of a group that always mean a built-in part."""
    if group in ("scorers", "rewards"):
        return builtin_scorers()
    if group == "generators":
        return builtin_generators()
    return {"formats": [*KINDS, "pictures"], "fits": ["auto", *get_args(Method)]}.get(group, [])


def list_plugins() -> list[PluginLine]:
    """Every installed plugin by kind and name."""
    return [
        PluginLine(group=group, name=one.word, place=one.place, package=one.package, refused=one.refused)
        for group in GROUPS
        for one in installed(group, builtin_words(group))
    ]
