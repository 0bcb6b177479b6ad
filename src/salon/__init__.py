"""Salon makes taste measurable: is there signal in these judgments, and what can be learned from them?

    >>> import salon
    >>> study = salon.open_study("study")                    # doctest: +SKIP
    >>> report = salon.check_study(study)                        # doctest: +SKIP
    >>> report.criteria[0].answer                            # doctest: +SKIP
    'yes, one taste'

Names are loaded when first used, so `import salon` is quick. Type checkers see them as they are.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from salon.bench import build_site as build_site, run_suite as run_suite
    from salon.calls import ScoresClient as ScoresClient
    from salon.check import CheckSettings as CheckSettings, check_study as check_study
    from salon.collect import open_studio as open_studio
    from salon.errors import SalonError as SalonError
    from salon.evaluate import report_judges as report_judges
    from salon.fuse import FuseSettings as FuseSettings, derive_rankings as derive_rankings, fuse_study as fuse_study
    from salon.generate import generate_items as generate_items
    from salon.judge import judge_study as judge_study
    from salon.select import (
        best_of_study as best_of_study,
        gate_for_study as gate_for_study,
        reward as reward,
        study_routes as study_routes,
    )
    from salon.store import (
        export_study as export_study,
        null_for as null_for,
        open_study as open_study,
        read_study as read_study,
        save_study as save_study,
    )
    from salon.study import (
        Checklist as Checklist,
        Choice as Choice,
        Comparison as Comparison,
        Criterion as Criterion,
        Design as Design,
        Item as Item,
        Prompt as Prompt,
        Ranking as Ranking,
        Rater as Rater,
        Rating as Rating,
        Scale as Scale,
        Study as Study,
        builtin_criteria as builtin_criteria,
        merge as merge,
    )
    from salon.train import (
        distill_study as distill_study,
        evaluate_models as evaluate_models,
        train_reward as train_reward,
        train_study as train_study,
    )

    __version__: str

_HOME = {
    "CheckSettings": "salon.check.results",
    "Checklist": "salon.study",
    "Choice": "salon.study",
    "Comparison": "salon.study",
    "Criterion": "salon.study",
    "Design": "salon.study",
    "FuseSettings": "salon.fuse.results",
    "Item": "salon.study",
    "Prompt": "salon.study",
    "Ranking": "salon.study",
    "Rater": "salon.study",
    "Rating": "salon.study",
    "SalonError": "salon.errors",
    "Scale": "salon.study",
    "ScoresClient": "salon.calls.scores_client",
    "Study": "salon.study",
    "best_of_study": "salon.select.best_of",
    "build_site": "salon.bench.site.build",
    "builtin_criteria": "salon.study",
    "check_study": "salon.check.check",
    "derive_rankings": "salon.fuse.derived_rankings",
    "distill_study": "salon.train.distillation",
    "evaluate_models": "salon.train.model_evaluation",
    "export_study": "salon.store.folder",
    "fuse_study": "salon.fuse.fuse",
    "gate_for_study": "salon.select.gate_run",
    "generate_items": "salon.generate.run",
    "judge_study": "salon.judge.run",
    "merge": "salon.study",
    "null_for": "salon.store.nulls",
    "open_studio": "salon.collect.studio.setup",
    "open_study": "salon.store.folder",
    "read_study": "salon.store.formats",
    "report_judges": "salon.evaluate.judges",
    "reward": "salon.select.reward_source",
    "run_suite": "salon.bench.run",
    "save_study": "salon.store.folder",
    "study_routes": "salon.select.route_sources",
    "train_reward": "salon.train.reward_training",
    "train_study": "salon.train.train_heads",
}
"""Where each name is defined; the same as the imports above, which only type checkers read."""
__all__ = sorted(_HOME)

if not TYPE_CHECKING:  # to a type checker, a module with this function has every name

    def __getattr__(name: str) -> object:
        if name == "__version__":
            return import_module("salon.study.nouns").salon_version()
        if name not in _HOME:
            raise AttributeError(f"module 'salon' has no attribute {name!r}")
        return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__
