"""What a call costs, by a price list the user keeps: a TOML file, because prices change and differ by contract.

currency = "USD"

[models.painter-1]            # what is listed is added up
input = 5.00                  # per million tokens
output = 40.00
call = 0.001                  # per request
image = 0.04                  # per picture, whatever its size and quality; or by size and quality:

[models.painter-2.images]
"1024x1024" = 0.04
"1024x1536" = { low = 0.016, high = 0.25 }
"""

from __future__ import annotations

import tomllib
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, NonNegativeInt

from salon.errors import BadFile, BadValue
from salon.study.noun import Noun

MILLION = 1_000_000

Price = Annotated[Decimal, Field(ge=0)]


class Order(Noun):
    """What one call buys. Tokens are what it may use at most, without pictures: the budget holds as far as they do."""

    model: str
    images: NonNegativeInt = 0
    size: str | None = None
    quality: str | None = None
    input_images: NonNegativeInt = 0
    """Pictures it sends."""
    input_tokens: NonNegativeInt = 0
    output_tokens: NonNegativeInt = 0


class ModelPrice(Noun):
    """The prices of one model; what is listed is added up."""

    input: Decimal = Field(default=Decimal(0), ge=0)
    """Per million tokens read."""
    output: Decimal = Field(default=Decimal(0), ge=0)
    """Per million tokens written."""
    call: Decimal = Field(default=Decimal(0), ge=0)
    image_tokens: NonNegativeInt = 0
    """The most tokens that one picture takes, read or written."""
    image: Decimal | None = Field(default=None, ge=0)
    images: dict[str, Price | dict[str, Price]] = Field(default_factory=dict)
    """By size, or by size and quality."""

    def per_image(self, order: Order) -> Decimal:
        """The price of one picture; the dearest listed one where size or quality are left to the server."""
        if not order.images:
            return Decimal(0)
        listed = self.images.get(order.size or "")
        dearest = max((_dearest(price) for price in self.images.values()), default=None)
        price: Decimal | None
        if isinstance(listed, dict):
            price = listed.get(order.quality or "", _dearest(listed))
        else:
            price = listed if listed is not None else self.image if self.image is not None else dearest
        return Decimal(0) if price is None else price


class Prices(Noun):
    """A price list."""

    currency: str = "USD"
    models: dict[str, ModelPrice] = Field(default_factory=dict)

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """The price list in a TOML file."""
        try:
            content = tomllib.loads(Path(path).read_text(encoding="utf-8"), parse_float=Decimal)
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise BadFile("a price list in TOML is needed", found=str(error), where=str(path)) from None
        return cls.parse(content, where=str(path))

    def most(self, order: Order | None) -> Decimal | None:
        """The most `order` can cost; None where the list does not know its model."""
        return None if order is None else self.cost(order, None, None)

    def cost(self, order: Order, tokens_in: int | None, tokens_out: int | None) -> Decimal | None:
        """What `order` cost once its tokens are known; those a server does not tell are taken as the most."""
        price = self.models.get(order.model)
        if price is None:
            return None
        read = order.input_tokens + order.input_images * price.image_tokens if tokens_in is None else tokens_in
        written = order.output_tokens + order.images * price.image_tokens if tokens_out is None else tokens_out
        tokens = (price.input * read + price.output * written) / MILLION
        return tokens + price.call + price.per_image(order) * order.images

    def need(self, model: str, *, pictures: bool = False) -> None:
        """Raise BadValue unless the most that a call to `model` can cost is known: a budget needs it."""
        price = self.models.get(model)
        if price is None:
            raise BadValue(
                f"a budget in money needs a price for {model!r}",
                found="prices of " + (", ".join(map(repr, self.models)) or "no model"),
                remedy=f'add [models."{model}"] to the price list, or limit the number of calls instead',
            )
        if pictures and price.output and not price.image_tokens:
            raise BadValue(
                f"a budget in money needs image_tokens for {model!r}, the most tokens that one picture takes",
                found="a price per token without",
                remedy=f'add image_tokens = ... to [models."{model}"]',
            )


def _dearest(price: Decimal | dict[str, Decimal]) -> Decimal:
    return max(price.values(), default=Decimal(0)) if isinstance(price, dict) else price
