from .chat_template import (
    ChatTemplate as ChatTemplate,
    read_chat_template as read_chat_template,
    shipped_templates as shipped_templates,
)
from .diagnosis import (
    diagnosis_question as diagnosis_question,
    read_diagnosis as read_diagnosis,
    wording_hash as wording_hash,
)
from .folder import (
    JUDGES as JUDGES,
    RECORD_FILE as RECORD_FILE,
    SettledPoint as SettledPoint,
    judge_folder as judge_folder,
    judge_names as judge_names,
    read_point_answers as read_point_answers,
    read_record as read_record,
    read_verdicts as read_verdicts,
    settle_points as settle_points,
)
from .measurements.table import MEASUREMENTS as MEASUREMENTS
from .measuring_judge import (
    RuleTask as RuleTask,
    answer_from_layout as answer_from_layout,
    look_at_pixels as look_at_pixels,
)
from .messages import (
    Messages as Messages,
    Templates as Templates,
)
from .model_scorers import (
    MARK as MARK,
    UNREAD_POLICY as UNREAD_POLICY,
    UNTRAINED as UNTRAINED,
    OnePass as OnePass,
    RaterSettings as RaterSettings,
    UntrainedScorer as UntrainedScorer,
    expand_model as expand_model,
    expand_raters as expand_raters,
    is_untrained_vlm as is_untrained_vlm,
    known_criterion as known_criterion,
    model_folder as model_folder,
    scorer_names as scorer_names,
    scores_name as scores_name,
    split_model_name as split_model_name,
    split_rater as split_rater,
)
from .openai_chat import (
    OpenAIChat as OpenAIChat,
    read_batch as read_batch,
    write_batch as write_batch,
)
from .picture_scores import (
    DistributedScorer as DistributedScorer,
    PictureSource as PictureSource,
    open_pictures as open_pictures,
    score_pictures as score_pictures,
    text_prompt as text_prompt,
)
from .plan import (
    JudgePlan as JudgePlan,
    plan_run as plan_run,
)
from .point_rules import (
    RULES_VERSION as RULES_VERSION,
    Rule as Rule,
    RuleFinding as RuleFinding,
    read_rule as read_rule,
)
from .protocol import (
    JudgeQuestion as JudgeQuestion,
    JudgeSettings as JudgeSettings,
    choose_paraphrase as choose_paraphrase,
    order_pair as order_pair,
    read_pairs as read_pairs,
    ticked_points as ticked_points,
    wordings as wordings,
)
from .registry import (
    RATES as RATES,
    WAYS as WAYS,
    JudgeSpec as JudgeSpec,
    calls_file as calls_file,
    check_budget as check_budget,
    endpoint_vlm as endpoint_vlm,
    make_plugin_judge as make_plugin_judge,
    open_judge as open_judge,
    read_rates as read_rates,
)
from .run import (
    JudgeCallback as JudgeCallback,
    JudgeProgress as JudgeProgress,
    JudgeRun as JudgeRun,
    VlmWithNotes as VlmWithNotes,
    check_may_replace as check_may_replace,
    judge_study as judge_study,
    readable_by as readable_by,
    run_plan as run_plan,
)
from .scorers.registry import (
    COMPOSITES as COMPOSITES,
    HOW_TO_DECLARE as HOW_TO_DECLARE,
    RELEASED as RELEASED,
    TableScorer as TableScorer,
    builtin_scorers as builtin_scorers,
    make_scorer as make_scorer,
    scorer_lines as scorer_lines,
)
from .scoring import (
    SCORE_COLUMNS as SCORE_COLUMNS,
    SCORES_FOLDER as SCORES_FOLDER,
    MissingScore as MissingScore,
    PictureScore as PictureScore,
    PictureScorer as PictureScorer,
    ScoreResult as ScoreResult,
    ScorerInput as ScorerInput,
    ScoreRun as ScoreRun,
    ScoreSettings as ScoreSettings,
    cached_scores as cached_scores,
    finite_score as finite_score,
    items_with_pictures as items_with_pictures,
    list_scores as list_scores,
    read_score_run as read_score_run,
    read_scores as read_scores,
    score_items as score_items,
    score_row as score_row,
    score_study as score_study,
    scores_file as scores_file,
    write_scores as write_scores,
)
from .simulation import (
    ScriptedVlm as ScriptedVlm,
    SimulatedVlm as SimulatedVlm,
    panel_truth as panel_truth,
)
from .trained_model import (
    opened as opened,
    served_card as served_card,
    trained_signature as trained_signature,
)
from .verdicts import (
    ParsedAnswer as ParsedAnswer,
    UnparsedAnswer as UnparsedAnswer,
    UnreadLimits as UnreadLimits,
    VerdictReader as VerdictReader,
    expected_form as expected_form,
    option_menu as option_menu,
    read_verdict as read_verdict,
)
from .verification import (
    Verification as Verification,
    reference_scorers as reference_scorers,
    verify_scorer as verify_scorer,
)
from .vlm import (
    Conversation as Conversation,
    Decoding as Decoding,
    NoReply as NoReply,
    Reply as Reply,
    Sight as Sight,
    Vlm as Vlm,
)
