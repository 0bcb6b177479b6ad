"""Fits of other people: judgments of one group in, one score for each item out."""

from __future__ import annotations

from functools import cache
from typing import Protocol, get_args, runtime_checkable

import numpy as np

from salon.errors import BadValue, SalonError
from salon.fuse.group_fit import GroupFit
from salon.fuse.groups import Compared, Floats, Group, Ranked, Rated
from salon.fuse.settings import Cluster, FuseSettings, Method
from salon.stats.pair_errors import Errors
from salon.study.plugins import Loaded, load_plugin

BUILTIN = ("auto", *get_args(Method))
PROTOCOLS = ("comparisons", "rankings", "ratings")


@runtime_checkable
class Fit(Protocol):
    """A way from the judgments of one group to scores; `salon fuse --method WORD` takes it."""

    name: str
    reads: str
    """The judgments it reads: comparisons, rankings or ratings."""

    def fit(self, judgments: Compared | Ranked | Rated, items: int) -> tuple[Floats, Floats | None]:
        """A score for each item, 0 .. items - 1, higher being better, and their standard errors.

        None in place of errors: Salon leaves out one rater (or prompt) after the other, and measures them.
        """
        ...


@cache
def own_fit(method: str) -> Loaded:
    """The plugin that `method` names; BadValue where there is none."""
    loaded = load_plugin("fits", method, BUILTIN)
    if loaded is None:
        raise BadValue("a method of salon fuse is needed", found=repr(method), remedy=f"one of {', '.join(BUILTIN)}")
    if loaded.part.reads not in PROTOCOLS:
        needed = f"a fit reads one of {', '.join(PROTOCOLS)}"
        raise BadValue(needed, found=repr(loaded.part.reads), where=loaded.origin)
    return loaded


def is_own_fit(method: str) -> bool:
    """Whether a method is a plugin's."""
    return method not in BUILTIN


def fit_own(group: Group, method: str, settings: FuseSettings, cluster: Cluster | None) -> GroupFit:
    """The scores of one group by a plugin."""
    loaded = own_fit(method)
    try:
        found = loaded.part.fit(group.by_kind[loaded.part.reads], group.items)
        scores, errors = found if isinstance(found, tuple) else (found, None)
        latent = np.asarray(scores, np.float64)
        se = None if errors is None else np.asarray(errors, np.float64)
    except SalonError:
        raise
    except Exception as error:  # somebody else's code may raise anything
        raise loaded.failed(error) from error
    _check(latent, "scores", group, loaded)
    if se is not None:
        _check(se, "standard errors", group, loaded)
        if (se <= 0).any():
            raise BadValue("standard errors above 0 are needed", found=float(se.min()), where=loaded.origin)
    own = None if se is None else Errors(se, np.diag(se**2), np.inf, f"of {loaded.name}, items independent")
    return GroupFit(latent=latent, solver=f"{loaded.name} ({loaded.origin})", iterations=0, errors=own)


def _check(values: Floats, what: str, group: Group, loaded: Loaded) -> None:
    if values.shape != (group.items,) or not np.isfinite(values).all():
        broken = "" if np.isfinite(values).all() else ", some not finite"
        raise BadValue(
            f"{group.items} finite {what} are needed, one for each item",
            found=f"an array of shape {values.shape}{broken}",
            where=f"{loaded.origin}; {group.where}",
        )
