from .bench import build_site as build_site, run_suite as run_suite
from .calls import ScoresClient as ScoresClient
from .check import CheckSettings as CheckSettings, check_study as check_study
from .collect import open_studio as open_studio
from .errors import SalonError as SalonError
from .evaluate import report_judges as report_judges
from .fuse import FuseSettings as FuseSettings, derive_rankings as derive_rankings, fuse_study as fuse_study
from .generate import generate_items as generate_items
from .judge import judge_study as judge_study
from .select import (
    best_of_study as best_of_study,
    gate_for_study as gate_for_study,
    reward as reward,
    study_routes as study_routes,
)
from .store import (
    export_study as export_study,
    null_for as null_for,
    open_study as open_study,
    read_study as read_study,
    save_study as save_study,
)
from .study import (
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
from .train import (
    distill_study as distill_study,
    evaluate_models as evaluate_models,
    train_reward as train_reward,
    train_study as train_study,
)

__version__: str
