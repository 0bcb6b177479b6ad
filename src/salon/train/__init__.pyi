from .ablation import (
    ablation_page as ablation_page,
    setting_table as setting_table,
)
from .ablation_results import (
    FACTOR_WORDS as FACTOR_WORDS,
    AblateReport as AblateReport,
    AblateSettings as AblateSettings,
)
from .distill_label import (
    LabelForecast as LabelForecast,
    LabelPlan as LabelPlan,
    check_labels_target as check_labels_target,
    drift_warnings as drift_warnings,
    forecast_labels as forecast_labels,
    plan_labels as plan_labels,
    write_labels as write_labels,
)
from .distill_label_settings import DistillLabelSettings as DistillLabelSettings
from .distill_settings import DistillSettings as DistillSettings
from .distillation import (
    DistillReport as DistillReport,
    distill_study as distill_study,
)
from .head_loop import Epoch as Epoch
from .memory_plan import (
    parse_memory as parse_memory,
    words as words,
)
from .model_evaluation import evaluate_models as evaluate_models
from .probe_report import (
    example_item as example_item,
    probe_page as probe_page,
    probe_study as probe_study,
    probe_table as probe_table,
    training_items as training_items,
)
from .probe_settings import ProbeSettings as ProbeSettings
from .probes import (
    SIZES as SIZES,
)
from .reward_training import train_reward as train_reward
from .settings import (
    GRID as GRID,
    Command as Command,
    CompareSettings as CompareSettings,
    HeadSettings as HeadSettings,
    RewardSettings as RewardSettings,
    SweepSettings as SweepSettings,
    find_recipe as find_recipe,
)
from .train_heads import train_study as train_study
