"""A generator from the words that name it on the command line.

    atelier, house:atelier        a built-in house, offline
    openai:MODEL                  a hosted model behind the OpenAI images protocol
    http:TEMPLATE.toml            any server that answers JSON over HTTP, described by a template
    diffusers:PATH                a diffusers pipeline in a folder, or by its hub name
    folder:[NAME=]PATH            pictures that are there already: a folder, or a table of files
    photographs:[NAME=]PATH       the same for photographs
    python:MODULE:NAME            a generator of your own: an object, or something that makes one when called

Each kind is imported when it is named, so its libraries are only needed by those who use it.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterable, Sequence
from typing import Any

from salon.errors import BadValue, InputError
from salon.study import Generator, Prompt

KINDS = {
    "house": "house:NAME",
    "openai": "openai:MODEL",
    "http": "http:TEMPLATE.toml",
    "diffusers": "diffusers:PATH",
    "folder": "folder:PATH",
    "photographs": "photographs:PATH",
    "python": "python:MODULE:NAME",
}


def generator_named(text: str, prompts: Iterable[Prompt] = (), *, budget: float | None = None) -> Generator:
    """The one generator that `text` names; a folder matches its files to `prompts`."""
    found = generators_named([text], prompts, budget=budget)
    if len(found) > 1:
        names = ", ".join(generator.name for generator in found)
        raise BadValue("the name of one generator is needed", found=f"a table of {len(found)}: {names}", where=text)
    return found[0]


def generators_named(
    texts: Sequence[str], prompts: Iterable[Prompt] = (), *, budget: float | None = None
) -> list[Generator]:
    """Every generator that `texts` name; a table of files may hold several. Hosted ones share the `budget`."""
    known = list(prompts)
    purse = None if budget is None else _part("calls.budget").Budget(money=budget)
    return [generator for text in texts for generator in _named(text, known, purse)]


def _named(text: str, prompts: list[Prompt], purse: Any) -> list[Generator]:
    kind, _, rest = text.partition(":")
    if kind not in KINDS:
        return [_house(text)]
    if not rest.strip():
        raise BadValue(f"a generator as {KINDS[kind]} is needed", found=repr(text), where="--generator")
    hosted = {} if purse is None else {"budget": purse}
    if kind in ("folder", "photographs"):
        source = "photograph" if kind == "photographs" else "generated"
        return list(_part("generate.folder").folder_generators(rest, prompts, source=source))
    if kind == "openai":
        return [_part("generate.openai_images").openai_images(rest, **hosted)]
    if kind == "http":
        return [_part("generate.http").http_generator(rest, **hosted)]
    if kind == "diffusers":
        return [_part("generate.diffusers").diffusers_generator(rest)]
    return [_own(rest)] if kind == "python" else [_house(rest)]


def _part(name: str) -> Any:
    """A module of Salon's, loaded now: most runs need one of them."""
    return importlib.import_module(f"salon.{name}")


def house_names() -> list[str]:
    """The built-in houses."""
    return list(_part("generate.houses").HOUSES)


def _house(name: str) -> Generator:
    names = house_names()
    if name in names:
        made: Generator = _part("generate.houses").house_generator(name)
        return made
    near = difflib.get_close_matches(name.casefold(), [*names, *KINDS], n=1, cutoff=0.5)
    start = f"did you mean {KINDS.get(near[0], near[0])}? " if near else ""
    raise BadValue(
        "the name of a generator is needed",
        found=repr(name),
        where="--generator",
        remedy=f"{start}There are the houses {', '.join(names)}; and {', '.join(list(KINDS.values())[1:])}",
    )


def _own(text: str) -> Generator:
    """An object of the user's own module; called first when it is a class or a function."""
    module, _, attribute = text.partition(":")
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise BadValue("a generator as python:MODULE:NAME is needed", found=error, where=f"python:{text}",
                       remedy="put the module's folder on PYTHONPATH") from None  # fmt: skip
    made = found() if callable(found) and not hasattr(found, "signature") else found
    if not isinstance(made, Generator):
        raise InputError(
            "a generator with a name, abilities, a signature and make() is needed",
            found=type(made).__name__,
            where=f"python:{text}",
            remedy="see Generator in salon.study.generator",
        )
    return made
