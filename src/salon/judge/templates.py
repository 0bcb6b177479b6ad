"""The texts judges are asked with: built in, or a user's own; their hash is part of every signature."""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from salon.errors import BadFile, UnknownReference
from salon.study.noun import Noun

Way = Literal["compare", "rate", "checklist", "compare-together", "rate-together"]
_PAIR, _ONE = {"image_a", "image_b"}, {"image"}
NEEDED: dict[Way, set[str]] = {
    "compare": _PAIR | {"question"},
    "rate": _ONE | {"question"},
    "checklist": _ONE | {"point"},
    "compare-together": _PAIR | {"criteria"},
    "rate-together": _ONE | {"criteria"},
}
"""What a text cannot do without."""
_TEXTS = ("prompt", "criterion", "criteria", "rubric", "question", "point", "options", "low", "high", "levels")
_NAMES = (*_TEXTS, "example", "image", "image_a", "image_b")
_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")


class Template(Noun):
    """One way of asking."""

    text: str = Field(min_length=1)
    system: str | None = None
    schema_: bool = Field(default=True, alias="schema")
    """Whether an endpoint may be told to hold the model to a JSON schema."""

    @model_validator(mode="after")
    def _knows_its_placeholders(self) -> Template:
        unknown = [name for name in _PLACEHOLDER.findall(self.text) if name not in _NAMES]
        if unknown:
            raise ValueError(f"no placeholder is called {{{unknown[0]}}}: there are {', '.join(_NAMES)}")
        return self

    @property
    def placeholders(self) -> list[str]:
        """Those in the text, in order."""
        return _PLACEHOLDER.findall(self.text)

    def filled(self, values: Mapping[str, str], pictures: Mapping[str, Any]) -> tuple[Any, ...]:
        """The text with `values`, broken where `pictures` stand; a paragraph without its value is left out.

        Everything is filled in at once: braces in a prompt are only text.
        """
        parts: list[Any] = [""]
        for paragraph in self.text.strip("\n").split("\n\n"):
            names = _PLACEHOLDER.findall(paragraph)
            if any(name not in pictures and not values.get(name) for name in names):
                continue
            parts[-1] += "\n\n" if parts != [""] else ""
            for number, piece in enumerate(_PLACEHOLDER.split(paragraph)):
                if number % 2 and piece in pictures:
                    parts += [pictures[piece], ""]
                else:
                    parts[-1] += values[piece] if number % 2 else piece
        return tuple(part for part in parts if part != "")


class Templates(Noun):
    """All ways of asking, with the version their author gave them."""

    version: str
    ways: dict[Way, Template]

    @property
    def hash(self) -> str:
        """Twelve hex digits that change when any text does."""
        record = {way: template.model_dump(mode="json") for way, template in sorted(self.ways.items())}
        return hashlib.sha256(json.dumps(record, sort_keys=True, ensure_ascii=False).encode()).hexdigest()[:12]

    def __getitem__(self, way: Way) -> Template:
        return self.ways[way]

    def opened_by(self, line: str) -> Self:
        """The same texts, each with `line` before its first one."""
        plain = line.replace("{", "(").replace("}", ")")  # no placeholder of ours
        ways = {way: one.model_copy(update={"text": f"{plain}\n{one.text.lstrip()}"}) for way, one in self.ways.items()}
        return self.model_copy(update={"ways": ways})

    @classmethod
    def builtin(cls) -> Self:
        """The texts that come with Salon."""
        file = resources.files("salon.judge").joinpath("templates", "judge.toml")
        return cls._parsed(tomllib.loads(file.read_text(encoding="utf-8")), "judge.toml")

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """A user's own texts; ways of asking that the file leaves out are the built-in ones."""
        try:
            content = tomllib.loads(Path(path).read_text(encoding="utf-8-sig"))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise BadFile("templates in TOML are needed", found=str(error), where=str(path)) from None
        own = cls._parsed({"version": "own"} | content, str(path))
        return own.model_copy(update={"ways": cls.builtin().ways | own.ways})

    @classmethod
    def _parsed(cls, content: dict[str, Any], where: str) -> Self:
        version = str(content.pop("version"))
        for way, table in content.items():
            if way not in NEEDED:
                raise UnknownReference(
                    "templates are named after ways of asking",
                    found=f"[{way}]",
                    where=where,
                    remedy=f"one of {', '.join(NEEDED)}",
                )
            template = Template.parse(table if isinstance(table, dict) else {}, where=f"{where}, [{way}]")
            if missing := NEEDED[way] - set(template.placeholders):
                raise BadFile(
                    f"the text of [{way}] must hold {{{sorted(missing)[0]}}}",
                    found="a text without it",
                    where=where,
                    remedy="put it where it belongs, or leave the table out to use the built-in text",
                )
        return cls.parse({"version": version, "ways": content}, where=where)
