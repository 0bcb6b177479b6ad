from .accuracy import PairCeilings as PairCeilings
from .answers import (
    Floats as Floats,
    PairAnswers as PairAnswers,
    PairContestant as PairContestant,
)
from .checklists import Routing as Routing
from .judges import (
    find_judges as find_judges,
    report_judges as report_judges,
)
from .leaks import (
    COLUMNS as COLUMNS,
    FILE as FILE,
    LeakGuard as LeakGuard,
    find_leaks as find_leaks,
    guard_record as guard_record,
    load_guard as load_guard,
    picture_keys as picture_keys,
    save_guard as save_guard,
    text_key as text_key,
    without_look_alikes as without_look_alikes,
)
from .models import (
    LoadedModel as LoadedModel,
    OpenStudy as OpenStudy,
    Progress as Progress,
    StudyEntry as StudyEntry,
    check_leaks as check_leaks,
    criterion_rows as criterion_rows,
    evaluate as evaluate,
    is_own as is_own,
    match_criteria as match_criteria,
    model_margins as model_margins,
    open_for_models as open_for_models,
    score_margins as score_margins,
    test_pairs_for as test_pairs_for,
    text_of as text_of,
)
from .page import (
    evaluation_page as evaluation_page,
    page_with_pictures as page_with_pictures,
)
from .pair_results import (
    JudgeFigures as JudgeFigures,
    LearningCurve as LearningCurve,
    LearningPoint as LearningPoint,
    validation_warnings as validation_warnings,
)
from .part_tables import (
    ScorePaperTable as ScorePaperTable,
    paper_table as paper_table,
    table_latex as table_latex,
    table_markdown as table_markdown,
    table_records as table_records,
)
from .people import (
    Ints as Ints,
    ItemOrder as ItemOrder,
    StudyPart as StudyPart,
    TestPairs as TestPairs,
    category_labels as category_labels,
    is_person as is_person,
    item_categories as item_categories,
    item_generators as item_generators,
    item_prompts as item_prompts,
    people_only as people_only,
    study_duels as study_duels,
    study_pairs as study_pairs,
    study_parts as study_parts,
)
from .pseudo_scores import (
    CARD as CARD,
    LabelCard as LabelCard,
    PseudoPairs as PseudoPairs,
    PseudoScores as PseudoScores,
    Source as Source,
    read_label_card as read_label_card,
    read_pseudo_scores as read_pseudo_scores,
    write_pseudo_scores as write_pseudo_scores,
)
from .raters import (
    RaterNames as RaterNames,
    choose_raters as choose_raters,
    person_contestants as person_contestants,
)
from .results import (
    KINDS as KINDS,
    CurveSettings as CurveSettings,
    EvaluateSettings as EvaluateSettings,
    Evaluation as Evaluation,
    ReportSettings as ReportSettings,
    ScoreEvaluationSettings as ScoreEvaluationSettings,
    TableKind as TableKind,
    TickReport as TickReport,
)
from .scorers import (
    ScoreQuestion as ScoreQuestion,
    evaluate_scores as evaluate_scores,
)
from .sections import NOT_RANKED as NOT_RANKED
from .tables import Names as Names
from .validation import (
    DRAWS as DRAWS,
    MISSING as MISSING,
    HeadFigures as HeadFigures,
    hits as hits,
    validation_figures as validation_figures,
)
