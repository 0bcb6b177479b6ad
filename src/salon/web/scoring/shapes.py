"""What may be sent to a scoring service, as JSON or as a form."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

Text = Annotated[str, Field(max_length=20_000)]
Name = Annotated[str, Field(min_length=1, max_length=300)]
Weight = Annotated[float, Field(ge=0, le=1e9)]


class Sent(BaseModel):
    """Unknown fields are refused, numbers are finite."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class ImageIn(Sent):
    """A picture: its bytes in base64, or its path below a root of the service. Nothing is ever fetched from a URL."""

    base64: str | None = Field(None, description="PNG, JPEG, WebP or GIF; data:image/...;base64, may stand before it.")
    path: str | None = Field(None, max_length=1000, description="Relative, below a folder named with --root.")
    name: str | None = Field(None, max_length=300, description="Comes back in the answer.")

    @model_validator(mode="before")
    @classmethod
    def _never_fetched(cls, given: Any) -> Any:
        if isinstance(given, dict) and {"url", "uri", "href", "image_url"} & given.keys():
            raise ValueError("pictures are never fetched from an address: send base64, a file, or a path below a root")
        return given

    @model_validator(mode="after")
    def _one_source(self) -> ImageIn:
        if (self.base64 is None) == (self.path is None):
            raise ValueError("either base64 or path is needed")
        return self


class PromptIn(Sent):
    """A prompt by its parts."""

    text: Text | None = None
    intent: Text | None = None
    description: Text | None = None
    aesthetics: Text | None = None


class LookIn(Sent):
    """Pictures and what they were made for."""

    images: list[ImageIn] = Field(default_factory=list, description="In a form: files named images instead.")
    prompt: Text | PromptIn | None = Field(None, description="One text, or the parts of a prompt; of all pictures.")
    criteria: list[Name] | None = Field(None, max_length=200, description="Only these; all when left out.")
    seconds: float | None = Field(None, gt=0, le=3600, description="Answer within so many seconds or not at all.")


class ScoreIn(LookIn):
    """Asks for numbers."""


class CompareIn(LookIn):
    """Asks for the chance that the first of two pictures is preferred."""


class PickIn(LookIn):
    """Asks for the best of several pictures."""

    weights: dict[Name, Weight] | None = Field(
        None,
        max_length=200,
        description="By criterion; *: all others. Only those named count; all alike but flags when left out.",
    )
    k: float = Field(1.0, ge=0, le=10, description="Standard deviations taken off a score before the best is chosen.")
    least: float | None = Field(None, description="Lowest bound that is good enough; below it nothing is chosen.")
    level: float = Field(0.95, gt=0, lt=1, description="Level at which two pictures can be told apart.")
    equal_scales: bool = Field(False, description="You know that the criteria are on one scale.")


class GateIn(LookIn):
    """Asks which pictures pass a gate."""

    gate: Name | None = Field(None, description="Name of the gate; may be left out where there is one.")


class ExplainIn(LookIn):
    """Asks why: of one picture, or of two held against each other."""

    weights: dict[Name, Weight] | None = Field(None, max_length=200, description="As for /v1/pick.")
    equal_scales: bool = Field(False, description="You know that the criteria are on one scale.")
    neighbours: int = Field(5, ge=0, le=20, description="Judged pictures to name, where the service knows a study.")
    measure: bool = Field(False, description="Also measure by rule; reading the text in a picture takes a second.")


class LoadIn(Sent):
    """A model to be loaded beside the active one."""

    name: str = Field("model", min_length=1, max_length=100)
    scorers: list[Name] = Field(
        default_factory=list,
        max_length=50,
        description="Built-in scorers by name, released ones as KIND:FOLDER below --model-root.",
    )
    models: list[Name] = Field(default_factory=list, max_length=20, description="Folders below --model-root.")
    activate: bool = Field(False, description="Serve it at once when it is loaded.")


class ActivateIn(Sent):
    """A loaded model to serve."""

    version: Name
