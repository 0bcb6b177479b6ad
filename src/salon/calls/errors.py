"""What stops a whole run of calls, as opposed to a `Refusal`, which is the fate of one call.

    SalonError
    └── CallsStopped          no further call is worth sending
        ├── WrongKey          the server does not accept the key, or there is none
        ├── NotServed         the address or the model is not known to the server
        ├── Unreachable       nothing answers at the address
        ├── QuotaSpent        the account has no credit left
        └── BudgetSpent       the next call could exceed the budget

Calls in flight are finished, stored and delivered before one of these is raised.
"""

from __future__ import annotations

from salon.errors import SalonError


class CallsStopped(SalonError):
    """No further call is worth sending."""


class WrongKey(CallsStopped):
    """The server does not accept the key, or there is none."""


class NotServed(CallsStopped):
    """The address or the model is not known to the server."""


class Unreachable(CallsStopped):
    """Nothing answers at the address."""


class QuotaSpent(CallsStopped):
    """The account has no credit left."""


class BudgetSpent(CallsStopped):
    """The next call could exceed the budget."""
