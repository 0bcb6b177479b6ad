"""Whether a tokenizer belongs to the weights it is used with."""

from __future__ import annotations

from typing import Any

from salon.models.weights import MissingWeights


def check_vocabulary(tokenizer: Any, rows: int, *, where: str) -> None:
    """MissingWeights unless the weights have a row for every token, and most rows have a token.

    Without its vocabulary a tokenizer loads as one that knows nothing, and every text is the same to it. A token past
    the last row stops the run in the middle.
    """
    known = len(tokenizer)
    if not rows / 2 <= known <= rows:
        raise MissingWeights(
            f"the tokenizer of the same release is needed: the weights have {rows:,} rows of a vocabulary",
            found=f"one of {known:,} tokens",
            where=where,
            remedy="put its vocabulary (vocab.json and merges.txt, vocab.txt, or tokenizer.json) beside the weights",
        )
