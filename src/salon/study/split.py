"""Train, validation and test, and the shares of a study's prompts that fall to each."""

from __future__ import annotations

from salon.errors import BadValue

SPLITS = ("train", "validation", "test")


def check_shares(shares: tuple[float, float, float]) -> None:
    """BadValue unless the shares of train, validation and test make a whole."""
    if abs(sum(shares) - 1) > 1e-9:
        found = " + ".join(f"{share:g}" for share in shares) + f" = {sum(shares):g}"
        raise BadValue("--train, --validation and --test must sum to 1", found=found)
