"""The interfaces of generators and scorers, and what passes between them and Salon."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, Protocol, runtime_checkable

from pydantic import ConfigDict, Field

from salon.study.nouns import Item, Noun, Part, Prompt, Signature


class Abilities(Noun):
    """What a generator can do; asking for more raises before anything is spent."""

    text_to_image: bool = True
    image_to_image: bool = False
    strength: bool = True
    """Whether image-to-image takes a strength: how far it may leave the picture."""
    seeded: bool = False
    """The same seed gives the same picture."""
    sizes: tuple[tuple[int, int], ...] | None = None
    """Widths and heights it can make; None for any."""
    batch: int = Field(default=1, ge=1)
    """How many asks it works on at once."""
    offline: bool = False


class Ask(Noun):
    """One picture wanted: a prompt, a seed, a size, and for image-to-image the picture to start from."""

    prompt: Prompt
    seed: int = Field(default=0, ge=0, lt=2**32)
    width: int | None = Field(default=None, ge=16, le=8192)
    """None leaves the size to the generator (the built-in ones take the brief's format)."""
    height: int | None = Field(default=None, ge=16, le=8192)
    image: bytes | None = Field(default=None, repr=False)
    """An encoded picture to start from."""
    layout: str | None = Field(default=None, repr=False)
    """The layout JSON beside `image`, if it is a drawn poster: built-in generators start from it, others ignore it."""
    strength: float | None = Field(default=None, gt=0, le=1)
    """How far image-to-image may leave `image`: 1 forgets it."""


class GeneratedPicture(Noun):
    """A picture as encoded bytes, with what the generator knows about it."""

    model_config = ConfigDict(str_max_length=100_000_000)  # an SVG may be long; other nouns hold what people write

    image: bytes = Field(repr=False)
    layout: str | None = Field(default=None, repr=False)
    """The layout JSON of a drawn poster."""
    svg: str | None = Field(default=None, repr=False)
    facts: dict[str, str | int | float | bool | None] = Field(default_factory=dict)
    """What else should be kept: the prompt as the server rewrote it, seconds, cost, the model's own version."""


class FailedPicture(Noun):
    """A picture that was not made, and why; recorded, never dropped."""

    reason: str
    """One sentence for people."""
    kind: str = "error"
    """A word to count by: refused, broken-image, timeout, budget, error."""


@runtime_checkable
class Generator(Protocol):
    """A system that makes pictures from prompts."""

    name: str
    abilities: Abilities
    signature: Signature
    """What would have to be equal for the same ask to give the same picture; it decides what a run may reuse."""

    def make(self, asks: Sequence[Ask]) -> Iterator[tuple[int, GeneratedPicture | FailedPicture]]:
        """(index into `asks`, result) for each of `asks` exactly once, in the order they are finished.

        Lazy: a result is yielded as soon as it is there, so the caller can keep it before the next is paid for. A
        picture that cannot be made is a `FailedPicture`, not an exception; exceptions are for what stops the whole run
        (a wrong key, a missing extra, a spent budget).
        """
        ...


# -- scorers -----------------------------------------------------------------------------------------------------------


class ScorerCard(Noun):
    """What one has to know before using a scorer's numbers."""

    reads: Literal["image", "image and prompt", "prompt"] = "image"
    view: tuple[Part, ...] = ()
    """Parts of the prompt it is given; all of them when none are named."""
    higher_is_better: bool = True
    low: float | None = None
    high: float | None = None
    is_logit: bool = False
    """Whether the logistic function of a difference of two scores is a probability."""
    transform: str | None = None
    """What was done to the network's own number, in words or as a formula."""
    measures: str = ""
    """One sentence."""
    licence: str = ""
    """Of weights and method."""
    source: str = ""
    notes: tuple[str, ...] = ()
    """What users of the numbers must know beyond that, a sentence each."""
    criterion: str | None = None
    """Id of the one criterion it speaks about; None where it was made for none in particular."""


@runtime_checkable
class RewardFunction(Protocol):
    """A function as trainers call it; wherever a scorer is named, a plugin of this form is one too."""

    def __call__(self, pictures: Sequence[Any], prompts: Sequence[str]) -> Sequence[float | None]:
        """One number for each picture (of Pillow) and its prompt, higher being better; None where it has none."""
        ...


@runtime_checkable
class Scorer(Protocol):
    """Anything that gives numbers to items."""

    name: str
    signature: Signature

    def score(self, items: Sequence[Item], prompts: Sequence[Prompt | None]) -> list[float | None]:
        """One number per item, None where it could not be scored (never a made-up value)."""
        ...


# -- captchas ----------------------------------------------------------------------------------------------------------


@runtime_checkable
class Captcha(Protocol):
    """What keeps programs from becoming voters of a public arena by the thousand."""

    name: str
    sources: tuple[str, ...]
    """Addresses beside the arena's own from which its widget loads scripts and frames: https://captcha.example.org"""

    def widget(self, newcomers: int) -> str:
        """HTML for the form that a newcomer sends; `newcomers` voters came from the same address today."""
        ...

    def verify(self, form: Mapping[str, str], newcomers: int) -> str:
        """A text that stands for this one solution and no other, for it is taken once; BadValue where it is none."""
        ...
