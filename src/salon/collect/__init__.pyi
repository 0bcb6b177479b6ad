from .agreement import (
    Agreement as Agreement,
    Disagreement as Disagreement,
)
from .assignment import (
    NoMoreQuestions as NoMoreQuestions,
    Rest as Rest,
)
from .panels import (
    BadPanelLink as BadPanelLink,
    VisitEnd as VisitEnd,
    done_ending as done_ending,
    entry_query as entry_query,
    places_taken as places_taken,
    read_panel_ids as read_panel_ids,
    visit_end as visit_end,
)
from .plan import workloads as workloads
from .quality import QualityFinding as QualityFinding
from .questions import (
    MergedOrder as MergedOrder,
    NextPair as NextPair,
    PairAnswer as PairAnswer,
    RaterQuestion as RaterQuestion,
    RawAnswer as RawAnswer,
    Sentences as Sentences,
    criterion_question as criterion_question,
    languages as languages,
    most_questions as most_questions,
    next_merge_step as next_merge_step,
)
from .settings import (
    FILE as FILE,
    Outcome as Outcome,
    PanelSettings as PanelSettings,
    StudioSettings as StudioSettings,
)
from .simulate.designers import (
    DesignerSettings as DesignerSettings,
    TrueQuality as TrueQuality,
    designers_planted as designers_planted,
    designers_study as designers_study,
    mean_quality as mean_quality,
    read_layout as read_layout,
)
from .simulate.panel import PlantedTruth as PlantedTruth
from .simulate.ppaint_like import (
    ppaint_like_planted as ppaint_like_planted,
    ppaint_like_study as ppaint_like_study,
)
from .simulate.settings import TRUTH as TRUTH, SimulateSettings as SimulateSettings
from .simulate.studies import (
    planted as planted,
    simulate_study as simulate_study,
)
from .simulate.taste_like import (
    taste_like_study as taste_like_study,
    taste_like_truth as taste_like_truth,
)
from .studio.adjudication import (
    ADJUDICATORS as ADJUDICATORS,
    Disputes as Disputes,
    StoredRuling as StoredRuling,
    adjudicator_name as adjudicator_name,
    dispute_key as dispute_key,
    list_rulings as list_rulings,
    screen_order as screen_order,
)
from .studio.answer_import import (
    ImportReport as ImportReport,
    import_answers as import_answers,
)
from .studio.figures import (
    PANEL as PANEL,
    LiveFigures as LiveFigures,
)
from .studio.owner_side import LiveCheck as LiveCheck
from .studio.payments import (
    PANEL_IDS as PANEL_IDS,
    PaymentLine as PaymentLine,
    bonus_lines as bonus_lines,
    payment_lines as payment_lines,
    payments_csv as payments_csv,
)
from .studio.rater_side import (
    EntryStep as EntryStep,
    Invitation as Invitation,
    RaterProgress as RaterProgress,
    ShownTask as ShownTask,
    StudioStep as StudioStep,
    TooEarly as TooEarly,
    is_merge_ranking as is_merge_ranking,
)
from .studio.removal import (
    RaterData as RaterData,
    erase_rater as erase_rater,
    find_rater_data as find_rater_data,
)
from .studio.setup import (
    change_settings as change_settings,
    choose_criteria as choose_criteria,
    current_settings_text as current_settings_text,
    database_file as database_file,
    describe_questions as describe_questions,
    first_plan as first_plan,
    follow_settings as follow_settings,
    open_studio as open_studio,
    set_toml_values as set_toml_values,
    study_to_collect as study_to_collect,
    write_settings_for as write_settings_for,
)
from .studio.studio import Studio as Studio
