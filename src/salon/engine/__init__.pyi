from .processes import (
    cores as cores,
    map_processes as map_processes,
)
from .replicas import (
    CallsReplicas as CallsReplicas,
    ReplicaDied as ReplicaDied,
    Replicas as Replicas,
    ReplicaStatus as ReplicaStatus,
    resident_bytes as resident_bytes,
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
