from .anchors import (
    AnchorReport as AnchorReport,
    anchor as anchor,
)
from .check import check_study as check_study
from .planning import (
    LEAST_ITEMS as LEAST_ITEMS,
    BudgetReport as BudgetReport,
    PlanReport as PlanReport,
    ThinReport as ThinReport,
    plan as plan,
    simulated_budget as simulated_budget,
    thin_study as thin_study,
)
from .report import check_page as check_page
from .results import (
    FLAGS_NOT_RANKED as FLAGS_NOT_RANKED,
    STATISTICS as STATISTICS,
    AnchorFigures as AnchorFigures,
    CeilingFigures as CeilingFigures,
    CheckReport as CheckReport,
    CheckSettings as CheckSettings,
    CriterionFigures as CriterionFigures,
    Interval as Interval,
    PanelCeilings as PanelCeilings,
    RaterSummary as RaterSummary,
    unranked_flags as unranked_flags,
)
from .settings import (
    AnchorSettings as AnchorSettings,
    PlanSettings as PlanSettings,
    SimulatedBudgetSettings as SimulatedBudgetSettings,
    ThinSettings as ThinSettings,
)
