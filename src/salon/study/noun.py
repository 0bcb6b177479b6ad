"""What every noun is: frozen, closed, and validated on the way in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from salon.errors import BadValue

NumberKind = Literal["text", "number", "count", "percent", "exact", "estimate", "p", "duration", "badge"]


@dataclass(frozen=True)
class Format:
    """How a field is shown: `share: Annotated[float, Format("percent", 1)] = Field(title=...)`."""

    kind: NumberKind
    decimals: int | None = None


class Noun(BaseModel):
    """A frozen record. Unknown fields and wrong types are refused with Salon's own error."""

    model_config = ConfigDict(frozen=True, extra="forbid", str_max_length=1_000_000, allow_inf_nan=False)

    @classmethod
    def parse(cls, record: dict[str, Any], *, where: str | None = None) -> Self:
        """`record` as this noun, or BadValue naming the field, what was found and where."""
        try:
            return cls.model_validate(record)
        except ValidationError as error:
            raise bad_value(error, noun=cls.__name__, where=where) from None

    def record(self) -> dict[str, Any]:
        """The noun as plain JSON types, fields that are None left out."""
        return self.model_dump(mode="json", exclude_none=True)


def bad_value(error: ValidationError, *, noun: str, where: str | None) -> BadValue:
    """pydantic's complaint in the house's four-part form (first fault named, the rest counted)."""
    faults = error.errors(include_url=False)
    first = faults[0]
    field = ".".join(str(part) for part in first["loc"]) or noun
    more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
    return BadValue(
        f"{noun}.{field}: {first['msg']}{more}",
        found=repr(first.get("input")),
        where=where,
        remedy="see docs/data.md for a literal example of every record",
    )
