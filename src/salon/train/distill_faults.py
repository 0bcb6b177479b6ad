"""What can go wrong while a one-pass scorer is trained, in words that say what helps."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from salon.errors import BadValue, MissingExtra, NotConverged
from salon.train.distill_settings import DistillSettings
from salon.train.distill_setup import last_checkpoint

try:
    import torch
    from transformers.utils import logging
except ImportError:  # pragma: no cover - the tests have it
    raise MissingExtra("distill") from None


@contextmanager
def quiet() -> Iterator[None]:
    """Without what libraries tell about each other, on which no user can act; errors are errors still."""
    before = logging.get_verbosity()
    logging.set_verbosity_error()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.set_verbosity(before)


@contextmanager
def explained(settings: DistillSettings, run: Path) -> Iterator[None]:
    """Say what helps when memory runs out, or when the weights are no numbers any more."""
    try:
        yield
    except RuntimeError as error:
        if isinstance(error, torch.OutOfMemoryError):
            raise _too_little(settings) from None
        if "probability tensor contains" in str(error):  # what sampling says of such weights
            raise not_a_number("chances of words that are none", run) from None
        if isinstance(error, NotImplementedError) and settings.vllm == "server":
            raise BadValue("--vllm server needs a GPU", found=str(error), remedy="--vllm off") from None
        raise
    except MemoryError:
        raise _too_little(settings) from None


def not_a_number(found: str, run: Path) -> NotConverged:
    """The error for weights or a loss that are no numbers any more."""
    last = last_checkpoint(run)
    return NotConverged(
        "a loss that is a number is needed",
        found=found,
        where=str(run),
        remedy=f"begin anew with a lower --lr or --clip; the last good checkpoint is {last or 'none'}",
    )


def _too_little(settings: DistillSettings) -> BadValue:
    less = "--recompute, --learn lora, or fewer --pixels" if settings.at_once == 1 else "a smaller --at-once"
    return BadValue(
        "more memory is needed than there is",
        found=f"{settings.at_once} answers at once, --learn {settings.learn}",
        remedy=f"{less}; with --resume the run goes on from its last checkpoint",
    )
