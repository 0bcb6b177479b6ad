"""Salon makes taste measurable: is there signal in these judgments, and what can be learned from them?

    >>> import salon
    >>> study = salon.open_study("study")                    # doctest: +SKIP
    >>> report = salon.check_study(study)                        # doctest: +SKIP
    >>> report.criteria[0].answer                            # doctest: +SKIP
    'yes, one taste'

Names are loaded when first used, so `import salon` is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOME = {
    "AsyncScoresClient": "salon.calls.scores_client",
    "CheckSettings": "salon.check.settings",
    "Checklist": "salon.study",
    "Choice": "salon.study",
    "Cohort": "salon.study",
    "Comparison": "salon.study",
    "Criterion": "salon.study",
    "Design": "salon.study",
    "FuseSettings": "salon.fuse.settings",
    "Item": "salon.study",
    "Prompt": "salon.study",
    "Ranking": "salon.study",
    "Rater": "salon.study",
    "Rating": "salon.study",
    "SalonError": "salon.errors",
    "Scale": "salon.study",
    "Scores": "salon.study",
    "ScoresClient": "salon.calls.scores_client",
    "Signature": "salon.study",
    "Study": "salon.study",
    "anchor": "salon.check.anchor",
    "builtin_criteria": "salon.study",
    "check_study": "salon.check.check",
    "derive_rankings": "salon.fuse.derived_rankings",
    "export_study": "salon.store.export",
    "fuse_study": "salon.fuse.fuse",
    "merge": "salon.study",
    "null_for": "salon.store.nulls",
    "open_study": "salon.store.folder",
    "read_study": "salon.store.formats",
    "reward": "salon.flows.select.reward",
    "save_study": "salon.store.folder",
}
__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module("salon.study.signature").salon_version()
    if name not in _HOME:
        raise AttributeError(f"module 'salon' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__
