"""A server and the terms on which it is asked."""

from __future__ import annotations

from dataclasses import dataclass, field

from salon.calls.address import checked_url, origin
from salon.calls.budget import Budget
from salon.calls.limits import Limits
from salon.calls.prices import Prices
from salon.calls.secret import Secret


@dataclass(frozen=True)
class Service:
    """`base_url` names the host that secrets are sent to, and no other host gets them."""

    base_url: str
    secrets: tuple[Secret, ...] = ()
    limits: Limits = field(default_factory=Limits)
    prices: Prices = field(default_factory=Prices)
    budget: Budget = field(default_factory=Budget)
    allow_http: bool = False
    """Whether plain http is allowed beyond this machine."""

    def __post_init__(self) -> None:
        checked_url(self.base_url, allow_http=self.allow_http)

    def is_home(self, url: str) -> bool:
        """Whether `url` is on the host of `base_url`."""
        return origin(url) == origin(self.base_url)

    def secret_headers(self, url: str) -> dict[str, str]:
        """The headers with keys, for this very moment; none for another host."""
        return dict(secret.filled() for secret in self.secrets) if self.is_home(url) else {}
