"""The mathematics of Salon: arrays in, frozen typed results out; no files, networks, GPUs or terminals.

Agreement of raters and its tests (`agreement`, `alpha`, `signal`, `signal_tests`, `agreement_tests`, `factions`), null
laws (`nulls`, `orbits`, `agreement_law`) and power (`power`, `simulate`); scores with errors from comparisons
(`comparisons`, `comparison_graph`, `pair_models`, `pair_fit`, `bradley_terry`, `pair_errors`, `pair_covariates`,
`crowd`, `elo`), rankings (`plackett_luce`) and ratings (`rating_models`, `rater_effects`, `rating_scale`), their ranks
(`ranks`) and fit (`residuals`); what to ask next (`budget`, `adaptive_design`); judges and predictors against people
(`judge_accuracy`, `judge_quality`, `ceilings`, `tick_ceilings`, `rank_agreement`, `score_agreement`); intervals
(`intervals`) and results (`result`).
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
