from .call import (
    Call as Call,
    CallAnswer as CallAnswer,
    Refusal as Refusal,
    Upload as Upload,
    is_secret as is_secret,
    read_error as read_error,
    read_json as read_json,
    read_usage as read_usage,
)
from .client import (
    Account as Account,
    Caller as Caller,
    Client as Client,
)
from .errors import (
    BudgetSpent as BudgetSpent,
    CallsStopped as CallsStopped,
    NotServed as NotServed,
)
from .scores_client import ScoresClient as ScoresClient
from .scores_schema import (
    CompareAnswer as CompareAnswer,
    CriterionComparison as CriterionComparison,
    CriterionInfo as CriterionInfo,
    GateAnswer as GateAnswer,
    GatedPicture as GatedPicture,
    ModelInfo as ModelInfo,
    ModelsAnswer as ModelsAnswer,
    PickAnswer as PickAnswer,
    PickStanding as PickStanding,
    PictureScores as PictureScores,
    ScoreAnswer as ScoreAnswer,
    ScoringAnswer as ScoringAnswer,
    ServedScore as ServedScore,
    ServiceError as ServiceError,
)
from .service import (
    Budget as Budget,
    CallOrder as CallOrder,
    Limits as Limits,
    Prices as Prices,
    Secret as Secret,
    Service as Service,
    base_address as base_address,
    check_url as check_url,
    is_local as is_local,
    resolves_to_private as resolves_to_private,
)
from .store import (
    CallStore as CallStore,
    utc_now as utc_now,
)
