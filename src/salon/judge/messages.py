"""From a question to the conversation a VLM gets: the prompt as people saw it, criterion, rubric and wording.

The texts are built in or a user's own; their hash is part of every signature.
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from salon.errors import BadFile, BadValue, UnknownReference
from salon.judge.protocol import JudgeQuestion, JudgeSettings, wordings
from salon.judge.vlm import Conversation, Sight
from salon.study import JUDGMENTS, Criterion, Noun, Part, Point, Prompt, Study

View = tuple[Part, ...]
KEY = {"compare": "verdict", "rate": "score", "checklist": "verdict"}
"""The field of the JSON object that holds the answer to one criterion."""


class Messages:
    """Makes conversations about the items of one study."""

    def __init__(
        self,
        study: Study,
        folder: Path,
        settings: JudgeSettings,
        templates: Templates,
        *,
        points: Sequence[Point] = (),
    ) -> None:
        self.study, self.folder, self.settings, self.templates = study, folder, settings, templates
        self._points = {(point.prompt, point.id): point.text for point in points}
        self._views: dict[str, View] = {}
        self._images = {item.id: item.image for item in study.nouns("items")}
        self._prompts: dict[str, Prompt] = {prompt.id: prompt for prompt in study.nouns("prompts")}

    def picture(self, item: str) -> Path:
        """Where an item's picture is, or would be."""
        return self.folder / (self._images[item] or item)

    def has_picture(self, item: str) -> bool:
        """Whether the study says where the picture of `item` is."""
        return bool(self._images[item])

    def shown_prompt(self, question: JudgeQuestion) -> str:
        """The prompt's text, byte for byte as the people who judged these criteria saw it; "" without a prompt."""
        if question.prompt is None:
            return ""
        views = {self._view(id) for id in question.criteria}
        if len(views) > 1:
            raise _several_views_error(question.criteria, views)
        own = self.study.criterion(question.criteria[0]).view if len(question.criteria) == 1 else ()
        return self._prompts[question.prompt].view(views.pop() or own)

    def conversation(self, question: JudgeQuestion) -> Conversation:
        """What the VLM gets."""
        template = self.templates[self._way]
        names = ("image",) if question.b is None else ("image_a", "image_b")
        sights = {name: Sight(item=item, path=self.picture(item)) for name, item in zip(names, question.items)}
        return Conversation(
            parts=template.filled(self._values(question), sights),
            system=template.system,
            options=self.settings.options,
            shape=self._shape(question, template),
            decoding=self.settings.decoding,
            sample=question.sample,
            about=question.criteria,
            point=question.point,
        )

    @property
    def _way(self) -> Way:
        protocol = self.settings.protocol
        if not self.settings.together or protocol == "checklist":
            return protocol
        return "compare-together" if protocol == "compare" else "rate-together"

    def _view(self, criterion: str) -> View:
        if criterion not in self._views:
            self._views[criterion] = shown_view(self.study, criterion, self.settings.cohort)
        return self._views[criterion]

    def _values(self, question: JudgeQuestion) -> dict[str, str]:
        first = self.study.criterion(question.criteria[0])
        values = {
            "prompt": self.shown_prompt(question),
            "options": ", ".join(json.dumps(option) for option in self.settings.options),
            "example": self._example(question),
        }
        if self.settings.together:
            described = (self._described(self.study.criterion(id)) for id in question.criteria)
            return values | {"criteria": "\n\n".join(described)}
        values |= {"criterion": first.title, "rubric": (first.rubric or "").strip()}
        if self.settings.protocol == "rate":
            return values | _scale_words(first) | {"question": first.rate_question or ""}
        if self.settings.protocol == "checklist":
            return values | {"point": self.point_text(question)}
        return values | {"question": wordings(first)[question.paraphrase or 0] if wordings(first) else ""}

    def point_text(self, question: JudgeQuestion) -> str:
        """The text of the point: the one of this prompt, or else the one for all, or else its name."""
        name = question.point or ""
        return self._points.get((question.prompt, name)) or self._points.get((None, name)) or name

    def _described(self, criterion: Criterion) -> str:
        """One of several criteria: the key of its answer, its name, rubric and scale."""
        text = f'Criterion "{criterion.id}": {criterion.title}\n{(criterion.rubric or "").strip()}'
        if self.settings.protocol == "rate":
            words = _scale_words(criterion)
            text += f"\nIts scale goes from {words['low']} to {words['high']}; give {words['options']}."
        return text

    def _example(self, question: JudgeQuestion) -> str:
        """What an answer looks like. It names every option, so that it leans towards none."""
        options = self.settings.options
        if self.settings.together:
            filler = json.dumps("|".join(options)) if options else "NUMBER"
            return "{" + ", ".join(f"{json.dumps(id, ensure_ascii=False)}: {filler}" for id in question.criteria) + "}"
        key = KEY[self.settings.protocol]
        return " or ".join(json.dumps({key: option}) for option in options) or f'{{"{key}": NUMBER}}'

    def _shape(self, question: JudgeQuestion, template: Template) -> dict[str, Any] | None:
        """The JSON schema of the answer."""
        if not template.schema_:
            return None
        value = {id: self._allowed(self.study.criterion(id)) for id in question.criteria}
        if not self.settings.together:
            value = {KEY[self.settings.protocol]: value[question.criteria[0]]}
        return {"type": "object", "properties": value, "required": list(value), "additionalProperties": False}

    def _allowed(self, criterion: Criterion) -> dict[str, Any]:
        if self.settings.options:
            return {"type": "string", "enum": list(self.settings.options)}
        scale = criterion.scale
        if scale is not None and scale.kind == "ordinal" and scale.levels:
            return {"type": "number", "enum": list(scale.levels)}
        return {"type": "number"} | ({} if scale is None else {"minimum": scale.low, "maximum": scale.high})


def _scale_words(criterion: Criterion) -> dict[str, str]:
    scale = criterion.scale
    if scale is None:
        return {}
    steps = scale.kind == "ordinal" and scale.levels
    numbers = ", ".join(f"{level:g}" for level in scale.levels)
    labels = "; ".join(f"{level:g} {label}" for level, label in zip(scale.levels, scale.labels))
    return {
        "low": f"{scale.low:g}",
        "high": f"{scale.high:g}",
        "levels": labels,
        "options": f"one of {numbers}" if steps else "any number on the scale, decimals too,",
    }


# -- what people saw -------------------------------------------------------------------------------------------------


def shown_view(study: Study, criterion: str, cohort: str | None = None) -> View:
    """The parts of the prompt that `cohort` saw, or else those people saw who judged `criterion`.

    Empty where no cohort says what it saw: the criterion's own view is then shown, as in the studio. Where cohorts saw
    different parts, the criterion's own view is shown too; BadValue if it has none.
    """
    views = {cohort_record.id: cohort_record.view for cohort_record in study.cohorts}
    if cohort is not None:
        if cohort not in views:
            raise UnknownReference(
                "a cohort that the study describes is needed",
                found=repr(cohort),
                where=f"study {study.name!r}",
                remedy="one of " + ", ".join(views) if views else "add it to study.toml",
            )
        return views[cohort]
    if len(set(views.values())) < 2:
        return next(iter(views.values()), ())
    judge_views = seen_views(study, criterion) or {()}
    if len(judge_views) > 1 and not study.criterion(criterion).view:
        raise _several_views_error((criterion,), judge_views)
    return judge_views.pop() if len(judge_views) == 1 else study.criterion(criterion).view


def seen_views(study: Study, criterion: str) -> set[View]:
    """The views of the cohorts whose people judged `criterion`."""
    views = {cohort.id: cohort.view for cohort in study.cohorts}
    number = [known_criterion.id for known_criterion in study.criteria].index(criterion)
    rater_numbers: set[int] = set()
    for kind in JUDGMENTS:
        table = study.table(kind)
        rater = study.codes("raters", table.column("rater"))
        rater_numbers |= set(np.unique(rater[study.codes("criteria", table.column("criterion")) == number]).tolist())
    raters = list(study.nouns("raters"))
    people = (raters[number] for number in rater_numbers if raters[number].kind != "model")
    cohort_names = {rater.cohort for rater in people if rater.cohort}
    return {views[name] for name in cohort_names if name in views}


def _several_views_error(criteria: Sequence[str], views: set[View]) -> BadValue:
    words = " and ".join(sorted("+".join(view) or "all of it" for view in views))
    return BadValue(
        f"one view of the prompt is needed for {', '.join(criteria)}",
        found=f"cohorts that saw {words}",
        remedy="name the cohort whose view the judge gets with --cohort",
    )


# -- the texts ---------------------------------------------------------------------------------------------------------

Way = Literal["compare", "rate", "checklist", "compare-together", "rate-together"]
_PAIR_PICTURES, _ONE_PICTURE = {"image_a", "image_b"}, {"image"}
NEEDED: dict[Way, set[str]] = {
    "compare": _PAIR_PICTURES | {"question"},
    "rate": _ONE_PICTURE | {"question"},
    "checklist": _ONE_PICTURE | {"point"},
    "compare-together": _PAIR_PICTURES | {"criteria"},
    "rate-together": _ONE_PICTURE | {"criteria"},
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
        ways = {
            way: template.model_copy(update={"text": f"{plain}\n{template.text.lstrip()}"})
            for way, template in self.ways.items()
        }
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
