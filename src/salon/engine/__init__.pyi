from .processes import (
    cores as cores,
    map_processes as map_processes,
)
from .work import (
    EngineSettings as EngineSettings,
    Row as Row,
    WorkSummary as WorkSummary,
    WorkTask as WorkTask,
    read_results as read_results,
    run_batches as run_batches,
    run_work as run_work,
)
