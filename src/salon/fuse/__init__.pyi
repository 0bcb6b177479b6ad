from .bridge import (
    BridgeQuestions as BridgeQuestions,
    bridge_report as bridge_report,
    next_questions as next_questions,
    plan_bridge as plan_bridge,
    score_bridge as score_bridge,
    score_group as score_group,
)
from .bridge_plan import (
    BridgeAnswers as BridgeAnswers,
    BridgePlan as BridgePlan,
    BridgeSettings as BridgeSettings,
    no_answers as no_answers,
    plan_group as plan_group,
    planned_calls as planned_calls,
)
from .bridge_scale import (
    calibration_curve as calibration_curve,
    next_round as next_round,
    random_placements as random_placements,
)
from .bridge_simulation import (
    rehearse_bridge as rehearse_bridge,
)
from .derived_rankings import (
    DerivedRankings as DerivedRankings,
    derive_rankings as derive_rankings,
)
from .fits import (
    PROTOCOLS as PROTOCOLS,
    count_judgments as count_judgments,
    fit_group as fit_group,
    raise_to_floor as raise_to_floor,
    step_pairs as step_pairs,
)
from .fuse import (
    ENOUGH_BESIDE_PROMPTS as ENOUGH_BESIDE_PROMPTS,
    ENOUGH_CLUSTERS as ENOUGH_CLUSTERS,
    fuse_study as fuse_study,
)
from .groups import (
    BOTH_BAD as BOTH_BAD,
    TIE as TIE,
    Floats as Floats,
    FuseGroup as FuseGroup,
    GroupComparisons as GroupComparisons,
    GroupFit as GroupFit,
    GroupRankings as GroupRankings,
    GroupRatings as GroupRatings,
    study_groups as study_groups,
)
from .labels import (
    make_labels as make_labels,
)
from .report import fuse_page as fuse_page
from .resampling import jackknife as jackknife
from .results import (
    ANCHORED as ANCHORED,
    FORMAT as FORMAT,
    RATED as RATED,
    Cluster as Cluster,
    FuseReport as FuseReport,
    FuseSettings as FuseSettings,
    Method as Method,
    MethodPair as MethodPair,
    RaterFit as RaterFit,
    ScoreRow as ScoreRow,
)
from .settings import LabelSettings as LabelSettings, RehearsalSettings as RehearsalSettings
from .splits import (
    check_splits as check_splits,
    item_prompts as item_prompts,
    prompt_texts as prompt_texts,
    split_items as split_items,
)
