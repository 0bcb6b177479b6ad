"""Flags from settings classes: name, help, type and default of a flag come from the field."""

from __future__ import annotations

import types
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

import click
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from salon.errors import BadValue

S = TypeVar("S", bound=BaseModel)
Command = Callable[..., Any]


class SectionedCommand(click.Command):
    """A command whose help lists the options that have a section after the others, under its heading."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {"Options": []}
        for param in self.get_params(ctx):
            if isinstance(param, click.Option) and (record := param.get_help_record(ctx)) is not None:
                sections.setdefault(getattr(param, "section", "Options"), []).append(record)
        for heading, records in sections.items():
            with formatter.section(heading):
                formatter.write_dl(records)


class SectionedOption(click.Option):
    """An option that stands under a heading of its own in the help of a `SectionedCommand`."""

    def __init__(self, *args: Any, section: str, **options: Any) -> None:
        super().__init__(*args, **options)
        self.section = section


class PluginChoice(click.Choice[str]):
    """One of the built-in words; also the name of an installed plugin of `group`, or python:MODULE:NAME."""

    def __init__(self, group: str, words: Sequence[str]) -> None:
        super().__init__(words)
        self.group = group

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from salon.study import plugins  # with the tables of a study: not for a help

        if value not in self.choices and plugins.find_plugin(self.group, str(value), self.choices) is not None:
            return str(value)
        return super().convert(value, param, ctx)


def options_from(
    settings: type[BaseModel], only: Collection[str] = (), *, section: str = "Options"
) -> Callable[[Command], Command]:
    """A decorator that adds one option per field of `settings` (or `only` those), with description and default."""

    def decorate(command: Command) -> Command:
        for name, field in reversed(settings.model_fields.items()):
            if (only and name not in only) or _is_nested(field):
                continue
            command = _option(name, field, section)(command)
        return command

    return decorate


def settings_from(settings: type[S], flags: Mapping[str, Any]) -> S:
    """The settings object that the flags describe; a value out of range is a usage error."""
    fields = {name: field for name, field in settings.model_fields.items() if name in flags and not _is_nested(field)}
    values = {name: flags[name] for name in fields}
    try:
        return settings(**{name: value for name, value in values.items() if value is not None})
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        name = str(fault["loc"][0]) if fault["loc"] else ""
        message = fault["msg"].removeprefix("Value error, ").replace("Input should be", "it must be")
        about = settings.model_fields[name].description if name in settings.model_fields else None
        flag = "--" + name.replace("_", "-") if name else "these settings"
        raise BadValue(
            f"{flag}: {message}", found=repr(fault.get("input")), remedy=about and f"{flag} is: {about}"
        ) from None


def _option(name: str, field: FieldInfo, section: str) -> Callable[[Command], Command]:
    extra = field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}
    flag = "--" + str(extra.get("flag", name)).replace("_", "-")
    kind = _plain_type(field.annotation)
    default = field.get_default(call_default_factory=True, validated_data={})
    about = {"cls": SectionedOption, "section": section, "default": default, "help": field.description or ""}
    if kind is bool:
        return click.option(f"{flag}/--no-{flag[2:]}", name, show_default=True, **about)
    if get_origin(kind) is Literal:
        words = [str(value) for value in get_args(kind)]
        choice = PluginChoice(str(extra["plugins"]), words) if "plugins" in extra else click.Choice(words)
        return click.option(flag, name, type=choice, show_default=True, **about)
    if get_origin(kind) is tuple:
        return click.option(flag, name, type=get_args(kind)[0], multiple=True, show_default=bool(default), **about)
    return click.option(flag, name, type=kind, show_default=default is not None, **about)


def _is_nested(field: FieldInfo) -> bool:
    """Whether a field holds settings or records of their own, which no single flag can give."""
    kind = _plain_type(field.annotation)
    inside = get_args(kind)[0] if get_origin(kind) is tuple else kind
    return isinstance(inside, type) and issubclass(inside, BaseModel)


def _plain_type(annotation: Any) -> Any:
    """`X | None` as X."""
    if get_origin(annotation) in (Union, types.UnionType):
        return next(part for part in get_args(annotation) if part is not type(None))
    return annotation


trusted_proxy_option = click.option(
    "--trusted-proxy",
    "trusted_proxies",
    multiple=True,
    default=("127.0.0.1", "::1"),
    metavar="ADDRESS",
    help="Proxy (address or network) whose X-Forwarded-For is believed (repeatable).  [default: this machine]",
)

overwrite_option = click.option("--overwrite", is_flag=True, help="Replace a study that is there already.")


def output_option(what: str) -> Callable[[Any], Any]:
    """The flag every command that writes shares."""
    return click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help=what)


def person_options(command: Command) -> Command:
    """The flags that name people of the study who are evaluated."""
    about_all = "Every person of STUDY (the 40 most active), each against the others."
    everyone = click.option("--raters", "everyone", is_flag=True, help=about_all)
    named = click.option(
        "--rater", "persons", multiple=True, metavar="ID", help="A person of STUDY, against the others (repeatable)."
    )
    return named(everyone(command))


def chosen_people(persons: Sequence[str], everyone: bool) -> Sequence[str] | Literal["all"]:
    """The people that the flags of `person_options` name."""
    if persons and everyone:
        raise BadValue("people are named, or all are taken", found="--rater and --raters", remedy="leave one out")
    return "all" if everyone else persons
