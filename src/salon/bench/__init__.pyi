from .arena import (
    FORMAT as FORMAT,
    ArenaBoard as ArenaBoard,
    ArenaPlace as ArenaPlace,
    ArenaSnapshot as ArenaSnapshot,
    RoutingCandidate as RoutingCandidate,
    RoutingJob as RoutingJob,
)
from .arena_fit import (
    arena_snapshot as arena_snapshot,
)
from .board import (
    Board as Board,
    entry_folder as entry_folder,
    folder_name as folder_name,
    is_board as is_board,
    new_board as new_board,
    open_board as open_board,
    published_results as published_results,
    restore as restore,
    retract as retract,
)
from .bundle import (
    add_entry as add_entry,
    open_submission as open_submission,
    pack as pack,
)
from .diff import (
    AxisMove as AxisMove,
    BoardDiff as BoardDiff,
    BoardSide as BoardSide,
    What as What,
    board_diff as board_diff,
)
from .entry import EntryResult as EntryResult
from .entry_files import (
    read_logits as read_logits,
    read_published as read_published,
    read_result as read_result,
)
from .figures import (
    SiteFigures as SiteFigures,
    figures_target as figures_target,
    write_figures as write_figures,
)
from .judging import (
    FINAL_FAILURES as FINAL_FAILURES,
    MEASURED as MEASURED,
    POINTS_CRITERION as POINTS_CRITERION,
    open_judges as open_judges,
    plan_role as plan_role,
    read_roles as read_roles,
    suite_roles as suite_roles,
)
from .posters.comparison import (
    ComparisonValue as ComparisonValue,
    PosterContestant as PosterContestant,
    compare_files as compare_files,
    is_apart as is_apart,
)
from .posters.comparison_report import compared_page as compared_page
from .posters.compat import with_released as with_released
from .posters.files import (
    POSTERS as POSTERS,
    PosterFile as PosterFile,
    RunCard as RunCard,
    contestant_name as contestant_name,
    find_files as find_files,
    picture_root as picture_root,
    read_card as read_card,
    read_judges as read_judges,
)
from .posters.generate import generate_named as generate_named
from .posters.judge import (
    judge_named as judge_named,
    people_study as people_study,
)
from .posters.judge_protocol import read_protocol as read_protocol
from .posters.paper_tables import (
    PaperCell as PaperCell,
    PosterPaperTable as PosterPaperTable,
)
from .posters.results import (
    MetricResult as MetricResult,
    PosterReport as PosterReport,
    TaskResult as TaskResult,
)
from .posters.run import (
    CUT_OFF as CUT_OFF,
    RunForecast as RunForecast,
    Spend as Spend,
    forecast_named as forecast_named,
    run_blind as run_blind,
    run_engine as run_engine,
    run_measured as run_measured,
    run_named as run_named,
)
from .posters.score import score_files as score_files
from .posters.score_report import (
    absent_notes as absent_notes,
    report_page as report_page,
    score_tables as score_tables,
)
from .posters.settings import (
    MAX_TOKENS as MAX_TOKENS,
    Convention as Convention,
    PosterScoreSettings as PosterScoreSettings,
)
from .posters.tasks import (
    GENERATION as GENERATION,
    GROUPS as GROUPS,
    TASKS as TASKS,
    task_named as task_named,
)
from .public_arena.anomalies import (
    Anomalies as Anomalies,
    FlaggedVoter as FlaggedVoter,
    Flood as Flood,
)
from .public_arena.arena import (
    BoardFitter as BoardFitter,
    PublicArena as PublicArena,
    open_public_arena as open_public_arena,
    watch_board as watch_board,
)
from .public_arena.ballots import (
    ArenaField as ArenaField,
    draw_ballot as draw_ballot,
    read_design as read_design,
)
from .public_arena.live_board import (
    LiveBoard as LiveBoard,
    RefitResult as RefitResult,
)
from .public_arena.release import (
    release_votes as release_votes,
    write_release as write_release,
)
from .public_arena.settings import PublicArenaSettings as PublicArenaSettings
from .public_arena.votes import (
    VoteReader as VoteReader,
    read_answer as read_answer,
)
from .rater_evaluation import (
    open_scorers as open_scorers,
    rater_tables as rater_tables,
    read_tests as read_tests,
    released_test_tables as released_test_tables,
)
from .rater_results import (
    RaterResult as RaterResult,
    RaterTables as RaterTables,
)
from .reference import (
    check_field as check_field,
    field_reference as field_reference,
    with_reference as with_reference,
)
from .result import (
    Standing as Standing,
    Standings as Standings,
    entry_result as entry_result,
    standings as standings,
)
from .rewards import (
    RewardPlace as RewardPlace,
    RewardTables as RewardTables,
    check_generator as check_generator,
    reward_tables as reward_tables,
    score_study_pictures as score_study_pictures,
)
from .rewards_report import (
    board_table as board_table,
    generator_table as generator_table,
    order_table as order_table,
    reward_page as reward_page,
)
from .run import (
    SuitePlan as SuitePlan,
    plan_suite as plan_suite,
    run_suite as run_suite,
)
from .settings import (
    ENDING as ENDING,
    ArenaSettings as ArenaSettings,
    JudgeTerms as JudgeTerms,
    RewardTableSettings as RewardTableSettings,
)
from .site.build import build_site as build_site
from .site.raters_page import (
    rater_order_table as rater_order_table,
    raters_report as raters_report,
)
from .snapshots import (
    Snapshot as Snapshot,
    publish_snapshot as publish_snapshot,
)
from .submission import (
    EntryTerms as EntryTerms,
    Submission as Submission,
)
from .suite import (
    CAPABILITY as CAPABILITY,
    OVERALL as OVERALL,
    Suite as Suite,
    check_suite as check_suite,
)
from .suite_drafts import (
    copy_suite as copy_suite,
    example_suite as example_suite,
    hide_prompts as hide_prompts,
    suite_from_prompts as suite_from_prompts,
    write_draft as write_draft,
)
from .suite_folder import (
    builtin_suites as builtin_suites,
    is_suite as is_suite,
    lock_suite as lock_suite,
    open_suite as open_suite,
    save_suite as save_suite,
    with_hashes as with_hashes,
)
from .verification import verify as verify
