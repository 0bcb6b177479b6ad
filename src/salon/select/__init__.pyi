from .best import (
    BestReport as BestReport,
    PromptPick as PromptPick,
    pick as pick,
)
from .best_of import (
    BEST_FOLDER as BEST_FOLDER,
    BestSettings as BestSettings,
    best_of_pictures as best_of_pictures,
    best_of_study as best_of_study,
    best_page as best_page,
    draw_and_pick as draw_and_pick,
    picks_table as picks_table,
    scores_beside as scores_beside,
    write_best as write_best,
)
from .cohp import (
    CohpReport as CohpReport,
)
from .cohp_report import (
    cohp_page as cohp_page,
    generator_counts as generator_counts,
    round_table as round_table,
)
from .cohp_run import (
    COHP_FOLDER as COHP_FOLDER,
    chain_study as chain_study,
)
from .explain_picture import (
    MeasuringWorker as MeasuringWorker,
    Neighborhood as Neighborhood,
    explain as explain,
    open_judged_study as open_judged_study,
    open_neighborhood as open_neighborhood,
)
from .explain_report import (
    contribution_table as contribution_table,
    explain_page as explain_page,
)
from .explanation import (
    NOT_CAUSES as NOT_CAUSES,
    PictureExplanation as PictureExplanation,
    PictureMeasurement as PictureMeasurement,
    RaterOpinion as RaterOpinion,
    ScoreDifference as ScoreDifference,
    compare_contributions as compare_contributions,
    contributions as contributions,
    spread_of as spread_of,
    total_of as total_of,
)
from .gate import (
    Gate as Gate,
    GateRow as GateRow,
    read_gate as read_gate,
)
from .gate_run import (
    SIMULATED_GATE as SIMULATED_GATE,
    GateRun as GateRun,
    flag_criterion as flag_criterion,
    gate_for_study as gate_for_study,
    gate_page as gate_page,
    page_beside as page_beside,
    pass_gate as pass_gate,
)
from .group_reward import (
    GroupReward as GroupReward,
    GroupScores as GroupScores,
    flow_factory_group_reward as flow_factory_group_reward,
    group_reward as group_reward,
)
from .pair_export import (
    fused_candidates as fused_candidates,
    scorer_candidates as scorer_candidates,
    vote_candidates as vote_candidates,
    write_pairs as write_pairs,
)
from .pairs import (
    PairCandidate as PairCandidate,
    PreferencePairSettings as PreferencePairSettings,
)
from .refine import (
    REFINE_FOLDER as REFINE_FOLDER,
)
from .refine_report import (
    difference_table as difference_table,
    refine_page as refine_page,
)
from .refine_run import refine_study as refine_study
from .refine_scores import (
    open_answering_vlm as open_answering_vlm,
    open_diagnosing_vlm as open_diagnosing_vlm,
)
from .reward_source import (
    as_png as as_png,
    reward as reward,
    text_prompt as text_prompt,
)
from .route import (
    Routes as Routes,
    apply_feedback as apply_feedback,
    choose_routes as choose_routes,
    read_feedback as read_feedback,
    route_prompts as route_prompts,
)
from .route_sources import (
    read_any_routes as read_any_routes,
    study_routes as study_routes,
)
from .scores import (
    StepCallback as StepCallback,
    list_scorers as list_scorers,
    reference_from_scores as reference_from_scores,
    study_scores as study_scores,
)
from .service.decisions import (
    Decision as Decision,
    DecisionLog as DecisionLog,
    DecisionSettings as DecisionSettings,
    Feedback as Feedback,
    UnknownDecision as UnknownDecision,
)
from .service.drift import (
    AgreementDrift as AgreementDrift,
    CriterionDrift as CriterionDrift,
    DriftMonitor as DriftMonitor,
    DriftReport as DriftReport,
    WatchedLog as WatchedLog,
    read_drift_reference as read_drift_reference,
    watch_log as watch_log,
    write_drift_reference as write_drift_reference,
)
from .service.feedback_study import (
    feedback_study as feedback_study,
    save_feedback as save_feedback,
)
from .service.looking import (
    SentPicture as SentPicture,
)
from .service.model import (
    BadPicture as BadPicture,
    DeadlineExceeded as DeadlineExceeded,
    LoadFailed as LoadFailed,
    LoadOrder as LoadOrder,
    LoadRefused as LoadRefused,
    ModelAnswer as ModelAnswer,
    QueueFull as QueueFull,
    ScoringModel as ScoringModel,
    ServedCriterion as ServedCriterion,
)
from .service.service import (
    BatchFacts as BatchFacts,
    ScoringService as ScoringService,
    ServiceAnswer as ServiceAnswer,
)
from .settings import (
    LOCAL_RAY as LOCAL_RAY,
    PAIR_FORMATS as PAIR_FORMATS,
    CohpSettings as CohpSettings,
    DriftSettings as DriftSettings,
    ExplainSettings as ExplainSettings,
    Explore as Explore,
    GateSettings as GateSettings,
    PickSettings as PickSettings,
    PointsBy as PointsBy,
    RefineSettings as RefineSettings,
    ServiceSettings as ServiceSettings,
)
from .weights import (
    Blend as Blend,
    ScorerColumn as ScorerColumn,
    ScoreReference as ScoreReference,
    blend_columns as blend_columns,
    read_reference as read_reference,
    read_weights as read_weights,
    write_sealed as write_sealed,
)
