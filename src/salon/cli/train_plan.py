"""Flags that training commands share: a plan of the memory, and settings of a paper by name."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource
from pydantic import BaseModel

from salon.cli.console import print_json, print_table, say
from salon.cli.options import settings_from
from salon.errors import BadValue
from salon.train.recipes import Command, recipe_named

if TYPE_CHECKING:
    from salon.train.memory_results import MemoryPlan

S = TypeVar("S", bound=BaseModel)


def plan_options(settings: type[BaseModel]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Flags of a plan; --shard only where the settings have none of their own."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        options = [
            click.option("--plan", "is_plan", is_flag=True, help="Only say how much memory this training needs."),
            click.option("--gpus", type=click.IntRange(1), default=1, show_default=True, help="GPUs to plan for."),
            click.option("--memory", help="Memory of a GPU, such as 80GB  [default: what is there]"),
            click.option("--text-tokens", type=click.IntRange(1), help="To plan for: tokens of text with a picture."),
        ]
        if "shard" not in settings.model_fields:
            choice = click.Choice(("none", "fsdp2", "zero2", "zero3"))
            options.append(
                click.option("--shard", type=choice, default="none", help="To plan for: how weights are shared out.")
            )
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def chosen_settings(settings: type[S], flags: Mapping[str, Any], command: Command, *, quiet: bool) -> S:
    """The settings that the flags and their recipe describe; the recipe is printed with its sources."""
    name = flags.get("recipe")
    if not name:
        return settings_from(settings, flags)
    recipe = recipe_named(name, command)
    context = click.get_current_context()
    given = {
        flag: value for flag, value in flags.items()
        if flag != "recipe" and context.get_parameter_source(flag) is not ParameterSource.DEFAULT
    }  # fmt: skip
    if not quiet:
        rows = recipe.lines(given)
        print_table(f"recipe {recipe.label}: {recipe.about}", ("setting", "value", "source"), rows, left=(0, 2))
        for note in recipe.notes:
            say(f"- {note}", dim=True)
    return settings_from(settings, {**flags, **recipe.values(given)})


def show_plan(kind: str, source: str, settings: Any, flags: Mapping[str, Any], *, as_json: bool) -> None:
    """Print what a training of this `kind`, reward or distill, needs."""
    planning = importlib.import_module("salon.train.memory_plan")  # torch comes with it
    there = importlib.import_module("salon.train.memory_available")
    memory, tokens = stated_memory(flags["memory"]) or there.gpu_memory(), flags["text_tokens"]
    shard = flags["shard"]
    plan = getattr(planning, f"plan_{kind}")(
        source, settings, gpus=flags["gpus"], shard=there.launched_shard(settings) if shard == "auto" else shard,
        memory=memory, **({"text_tokens": tokens} if tokens else {}),
    )  # fmt: skip
    if as_json:
        print_json(plan.model_dump(mode="json"))
    else:
        _print(plan)


def stated_memory(text: str | None) -> int | None:
    """Bytes of --memory, where it is given."""
    if text is None:
        return None
    return int(importlib.import_module("salon.train.memory_available").parse_memory(text))


def require(value: Path | None, flag: str) -> Path:
    """What only a plan can do without."""
    if value is None:
        raise BadValue(f"{flag} is needed", found="nothing", remedy=f"give {flag}, or --plan")
    return value


def _print(plan: MemoryPlan) -> None:
    words = importlib.import_module("salon.train.memory_available").words
    say(plan.headline, bold=True)
    say(
        f"{plan.backbone}: {plan.parameters:,} parameters, {plan.trained:,} of them learn; {plan.picture_tokens:,} "
        f"tokens a picture, {plan.tokens:,} a sequence"
    )
    rows = [(row.name, words(row.bytes), row.how) for row in plan.rows]
    rows += [("margin", words(plan.margin), "10% of the sum, and at least 1 GB on a GPU")]
    rows += [("total", words(plan.total), "")]
    print_table("memory of each GPU", ("", "bytes", "how it is counted"), rows, left=(0, 2))
    if plan.fits is None:
        say("- no memory is stated (--memory 80GB) and no GPU is here: nothing to hold it against")
    else:
        say(f"- it {'fits' if plan.fits else 'does not fit'} into {words(plan.memory)}")
    if plan.fits is False:
        say(f"- smallest change that fits: {plan.change or 'none of recompute, at-once, shard and lora is enough'}")
    for words_ in plan.left_out:
        say(f"- not counted: {words_}", dim=True)
