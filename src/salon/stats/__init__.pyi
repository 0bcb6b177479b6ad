from .adaptive_design import (
    PairPosterior as PairPosterior,
    Placement as Placement,
    PlacementAnswers as PlacementAnswers,
    Pool as Pool,
    choose_opponents as choose_opponents,
    expected_gains as expected_gains,
    expected_posterior as expected_posterior,
    order_gains as order_gains,
    pair_posterior as pair_posterior,
    place as place,
    placement_pool as placement_pool,
    prior_posterior as prior_posterior,
    sort_answers as sort_answers,
)
from .agreement import (
    agreement_of_counts as agreement_of_counts,
    fleiss_kappa as fleiss_kappa,
    induced_outcomes as induced_outcomes,
    longest_run as longest_run,
    outcome_counts as outcome_counts,
    outliers as outliers,
    pair_tau as pair_tau,
    panel_means as panel_means,
    split_pattern as split_pattern,
    supermajority_share as supermajority_share,
    unanimous_share as unanimous_share,
    wilson as wilson,
)
from .agreement_law import (
    Part as Part,
    ranking_law as ranking_law,
)
from .agreement_tests import (
    agreement_test as agreement_test,
    power_agreement as power_agreement,
    tied_parts as tied_parts,
    tied_test as tied_test,
    vote_power as vote_power,
    vote_test as vote_test,
)
from .alpha import (
    alpha_bootstrap as alpha_bootstrap,
    alpha_from_w as alpha_from_w,
    group_concordances as group_concordances,
    krippendorff_alpha as krippendorff_alpha,
)
from .arena_design import (
    draw_pair as draw_pair,
    pair_chances as pair_chances,
    set_chance as set_chance,
    variance_gains as variance_gains,
)
from .binomial import fair_coin_p as fair_coin_p
from .budget import (
    BudgetRow as BudgetRow,
    Thinning as Thinning,
    balanced_pairs as balanced_pairs,
    comparison_budget as comparison_budget,
    mean_of_simulations as mean_of_simulations,
    smallest_fraction as smallest_fraction,
    thin_comparisons as thin_comparisons,
)
from .checklist_ceilings import (
    TICK_ODDS as TICK_ODDS,
    TickCeilings as TickCeilings,
    tick_ceilings as tick_ceilings,
)
from .comparison_graph import (
    Dominance as Dominance,
    GraphShape as GraphShape,
    connectivity as connectivity,
    counts_connectivity as counts_connectivity,
    counts_dominance as counts_dominance,
    dominance as dominance,
)
from .comparisons import (
    PairCounts as PairCounts,
    count_pairs as count_pairs,
    pair_rows as pair_rows,
)
from .crowd import (
    CrowdPrior as CrowdPrior,
    fit_crowd as fit_crowd,
)
from .drift import (
    AgreementLook as AgreementLook,
    DriftLook as DriftLook,
    agreement_look as agreement_look,
    drift_look as drift_look,
)
from .elo import (
    EloSettings as EloSettings,
    anchored_elo as anchored_elo,
)
from .factions import faction_test as faction_test
from .intervals import (
    BOTH_SIDES as BOTH_SIDES,
    SHARE as SHARE,
    UNBOUNDED as UNBOUNDED,
    Ends as Ends,
    Resampling as Resampling,
    bootstrap_interval as bootstrap_interval,
    bootstrap_totals as bootstrap_totals,
    exact_bound as exact_bound,
    influences as influences,
    interval as interval,
    paired_difference as paired_difference,
    score_interval as score_interval,
    with_width as with_width,
)
from .jit import compiled as compiled
from .judge_quality import (
    CalibrationBin as CalibrationBin,
    PairCalibration as PairCalibration,
    WordingSpread as WordingSpread,
    band as band,
    pair_calibration as pair_calibration,
    self_agreement as self_agreement,
    separation as separation,
    wording_spread as wording_spread,
)
from .judge_rates import (
    AGAINST as AGAINST,
    NO as NO,
    TIE as TIE,
    UNREAD as UNREAD,
    UNREAD_TICK as UNREAD_TICK,
    WITH as WITH,
    YES as YES,
    Accuracy as Accuracy,
    JudgeAccuracy as JudgeAccuracy,
    TickRates as TickRates,
    accuracy_difference as accuracy_difference,
    identity_gap as identity_gap,
    judge_accuracy as judge_accuracy,
    kind_table as kind_table,
    match_rate as match_rate,
    pair_kinds as pair_kinds,
    pair_scores as pair_scores,
    tick_accuracy as tick_accuracy,
    tick_difference as tick_difference,
    tick_identity_gap as tick_identity_gap,
    tick_table as tick_table,
)
from .limits import LEAST_VALUES as LEAST_VALUES, MAX_ITEMS as MAX_ITEMS, LawKind as LawKind
from .nulls import (
    FEW_RATERS as FEW_RATERS,
    Null as Null,
    check_shape as check_shape,
    exact_null as exact_null,
    feasible as feasible,
    monte_carlo_null as monte_carlo_null,
    sampled_null as sampled_null,
)
from .own_slopes import (
    SlopeTests as SlopeTests,
    flag_cells as flag_cells,
    flag_groups as flag_groups,
    slope_tests as slope_tests,
    step_up as step_up,
)
from .pair_ceilings import (
    Ceilings as Ceilings,
    VoteTable as VoteTable,
    accuracy_warnings as accuracy_warnings,
    bucket_ceilings as bucket_ceilings,
    ceilings as ceilings,
    cells_table as cells_table,
    next_rater as next_rater,
    table_ceilings as table_ceilings,
    vote_table as vote_table,
)
from .pair_covariates import (
    CovariateErrors as CovariateErrors,
    CovariateFit as CovariateFit,
    covariate_errors as covariate_errors,
    fit_covariates as fit_covariates,
)
from .pair_errors import (
    Errors as Errors,
    FittedInformation as FittedInformation,
    bootstrap_scores as bootstrap_scores,
    cluster_scores as cluster_scores,
    clustered_errors as clustered_errors,
    hessian_errors as hessian_errors,
    independent_errors as independent_errors,
    two_way_errors as two_way_errors,
    two_way_variance as two_way_variance,
)
from .pair_fit import (
    PairFit as PairFit,
    Pull as Pull,
    fit_pairs as fit_pairs,
    newton_step as newton_step,
)
from .pair_models import (
    DENSE_ITEMS as DENSE_ITEMS,
    TIE_MODELS as TIE_MODELS,
    pair_probabilities as pair_probabilities,
)
from .plackett_luce import (
    RankFit as RankFit,
    fit_rankings as fit_rankings,
    ranking_errors as ranking_errors,
    ranking_model_errors as ranking_model_errors,
)
from .power import (
    TestName as TestName,
    power_signal as power_signal,
    smallest_prompts as smallest_prompts,
    smallest_raters as smallest_raters,
)
from .rank_agreement import (
    GeneratorRanks as GeneratorRanks,
    MethodAgreement as MethodAgreement,
    generator_ranks as generator_ranks,
    kendall as kendall,
    mean_ranks as mean_ranks,
    method_agreement as method_agreement,
    spearman_p as spearman_p,
)
from .ranks import (
    PairedMeans as PairedMeans,
    RankIntervals as RankIntervals,
    mean_interval as mean_interval,
    paired_means as paired_means,
    rank_intervals as rank_intervals,
    stratify_values as stratify_values,
)
from .rater_effects import (
    rating_offset_scale as rating_offset_scale,
    rating_sureal as rating_sureal,
)
from .rating_models import (
    LARGEST_RATING as LARGEST_RATING,
    RatingFit as RatingFit,
    moderated_variances as moderated_variances,
    rating_centers as rating_centers,
    rating_mean as rating_mean,
    rating_median as rating_median,
    rating_shrunken_means as rating_shrunken_means,
    rating_zscores as rating_zscores,
)
from .rating_scale import (
    RatingAnchors as RatingAnchors,
    Sigmoid as Sigmoid,
    choose_rating_anchors as choose_rating_anchors,
    fit_sigmoid as fit_sigmoid,
    min_max_sigmoid as min_max_sigmoid,
)
from .recall_bound import (
    RecallThreshold as RecallThreshold,
    positives_needed as positives_needed,
    recall_threshold as recall_threshold,
)
from .residuals import (
    RaterResiduals as RaterResiduals,
    goodness_of_fit as goodness_of_fit,
    pair_residuals as pair_residuals,
    rater_residuals as rater_residuals,
    spread_ties as spread_ties,
)
from .result import (
    Estimate as Estimate,
    Test as Test,
    described as described,
    result as result,
)
from .score_agreement import (
    agreement_draws as agreement_draws,
    lowest_filling as lowest_filling,
)
from .score_rewards import (
    TAU as TAU,
    Fidelity as Fidelity,
    Weighing as Weighing,
    closeness_rewards as closeness_rewards,
    fidelity_rewards as fidelity_rewards,
    targets_from_scores as targets_from_scores,
    targets_from_votes as targets_from_votes,
)
from .signal import (
    SignalCells as SignalCells,
    cells_votes as cells_votes,
    cycles as cycles,
    cycles_possible as cycles_possible,
    kendall_t as kendall_t,
    median_of_counts as median_of_counts,
    p_max as p_max,
    pmax_bins as pmax_bins,
    resample_cells as resample_cells,
    statistics_cells as statistics_cells,
    votes_rankings as votes_rankings,
)
from .signal_tests import (
    cycle_test as cycle_test,
    folded_pmf as folded_pmf,
    holm as holm,
    pmax_test as pmax_test,
    t_test as t_test,
)
from .simulate import (
    ComparisonColumns as ComparisonColumns,
    RankingLaw as RankingLaw,
    expected_tau as expected_tau,
    fit_tau as fit_tau,
    ratings_from_utilities as ratings_from_utilities,
)
from .uncertain_scores import (
    LOGISTIC_VARIANCE as LOGISTIC_VARIANCE,
    QUADRATURE_POINTS as QUADRATURE_POINTS,
    WIDE as WIDE,
    normal_points as normal_points,
    probit_win_chance as probit_win_chance,
    win_chance as win_chance,
)
from .vote_laws import leak_warnings as leak_warnings
