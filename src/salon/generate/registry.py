"""A generator from the words that name it on the command line.

    atelier, house:atelier        a built-in generator, offline
    proof+low-contrast@0.6        a built-in generator with defects planted in all its work, each with its strength
    openai:MODEL[@URL]            a model behind the OpenAI images protocol, there or at another server's address
    http:TEMPLATE.toml            any server that answers JSON over HTTP, described by a template
    diffusers:PATH                a diffusers pipeline in a folder, or by its hub name
    folder:[NAME=]PATH            pictures that are there already: a folder, or a table of files
    photographs:[NAME=]PATH       the same for photographs
    NAME                          a plugin: a generator that another package adds
    python:MODULE:NAME            a generator of your own: an object, or something that makes one when called

Each kind is imported when it is named, so its libraries are only needed by those who use it.
"""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from salon.errors import BadValue, MissingExtra
from salon.study import Ask, FailedPicture, GeneratedPicture, Generator, LoadedPlugin, Prompt, load_plugin, plugin_lines

KINDS = {
    "house": "house:NAME[+DEFECT@STRENGTH]",
    "openai": "openai:MODEL[@URL]",
    "http": "http:TEMPLATE.toml",
    "diffusers": "diffusers:PATH",
    "folder": "folder:PATH",
    "photographs": "photographs:PATH",
    "python": "python:MODULE:NAME",
}
GENERATOR_FORMS = "a built-in generator, or " + ", ".join(form for kind, form in KINDS.items() if kind != "house")
"""How a generator is named, for helps and errors."""


@dataclass(frozen=True)
class CallTerms:
    """On what terms generators that are asked over a network work; those of one run share them."""

    calls: Path | None = None
    """The file in which every answer is kept before it is used; each is paid for once."""
    prices: Path | None = None
    """A price list in TOML; without one costs are not known."""
    budget: float | None = None
    """The most they may spend together; needs prices."""

    @cached_property
    def options(self) -> dict[str, Any]:
        """The open store, the prices and the purse."""
        if self.calls is None:
            raise BadValue("a file that keeps bought answers is needed", found="none", remedy="Terms(calls=...)")
        if self.budget is not None and self.prices is None:
            raise BadValue("a budget needs a price list", found="none", remedy="add --prices prices.toml")
        return {
            "store": _import("calls.store").CallStore(self.calls),
            "prices": None if self.prices is None else _import("calls.service").Prices.load(self.prices),
            "budget": _import("calls.service").Budget(money=self.budget),
        }


def make_generator(text: str, prompts: Iterable[Prompt] = (), terms: CallTerms | None = None) -> Generator:
    """The one generator that `text` names; a folder matches its files to `prompts`."""
    generators = make_generators([text], prompts, terms)
    if len(generators) > 1:
        names = ", ".join(generator.name for generator in generators)
        raise BadValue(
            "the name of one generator is needed", found=f"a table of {len(generators)}: {names}", where=text
        )
    return generators[0]


def make_generators(
    texts: Sequence[str], prompts: Iterable[Prompt] = (), terms: CallTerms | None = None
) -> list[Generator]:
    """Every generator that `texts` name; a table of files may hold several."""
    prompt_list, shared = list(prompts), terms or CallTerms()
    return [generator for text in texts for generator in _make_generators(text, prompt_list, shared)]


def _make_generators(text: str, prompts: list[Prompt], terms: CallTerms) -> list[Generator]:
    kind, _, rest = text.partition(":")
    if kind not in KINDS:
        is_house = text.partition("+")[0] in [house for house, _ in house_help()]
        plugin = None if is_house else load_plugin("generators", text, builtin_generators())
        return [_house(text) if plugin is None else PluginGenerator(plugin)]
    if not rest.strip():
        raise BadValue(f"a generator as {KINDS[kind]} is needed", found=repr(text), where="--generator")
    if kind in ("folder", "photographs"):
        source = "photograph" if kind == "photographs" else "generated"
        return list(_import("generate.folder").folder_generators(rest, prompts, source=source))
    if kind == "openai":
        images = _import("generate.openai_images")
        model, _, url = rest.partition("@")
        # a server of one's own may need no key: the variable is then left unset
        own = {"base_url": url, "key": images.KEY if os.environ.get(images.KEY) else None} if url else {}
        return [images.OpenAIImages(model, **own, **terms.options)]
    if kind == "http":
        http = _import("generate.http")
        return [http.HttpGenerator(http.HttpTemplate.load(rest), **terms.options)]
    if kind == "diffusers":
        return [_import("generate.diffusers").DiffusersGenerator(rest)]
    if kind == "python":
        loaded = load_plugin("generators", text)
        assert loaded is not None
        return [PluginGenerator(loaded)]
    return [_house(rest)]


def _import(name: str) -> Any:
    """A module of Salon's, loaded now: most runs need one of them."""
    return importlib.import_module(f"salon.{name}")


def house_lines() -> list[tuple[str, str]]:
    """The built-in generators, each with a sentence."""
    return [(house.name, house.about) for house in _import("generate.houses").HOUSES.values()]


def house_help() -> list[tuple[str, str]]:
    """The same for a help text, which is also read where they are not installed."""
    if importlib.util.find_spec("skia") is None:
        return [("(none)", f"not installed: {MissingExtra('generate').remedy}")]
    return house_lines()


def builtin_generators() -> list[str]:
    """Words that no plugin may take."""
    return [*KINDS, *(name for name, _ in house_help())]


def _house(name: str) -> Generator:
    names = [house for house, _ in house_lines()]
    if name.partition("+")[0] in names:
        _import("render.paint.skia_library")  # where it is not installed, say so before the first picture
        generator: Generator = _import("generate.houses").house_generator(name)
        return generator
    near = difflib.get_close_matches(name.casefold(), [*names, *KINDS], n=1, cutoff=0.5)
    start = f"did you mean {KINDS.get(near[0], near[0])}? " if near else ""
    plugins = [plugin for plugin, _ in plugin_lines("generators", builtin_generators())]
    installed = f"; plugins are {', '.join(plugins)}" if plugins else ""
    raise BadValue(
        "the name of a generator is needed",
        found=repr(name),
        where="--generator",
        remedy=f"{start}It is {GENERATOR_FORMS}; built-in generators are {', '.join(names)}{installed}",
    )


class PluginGenerator:
    """A plugin as a generator, with its origin in the signature."""

    def __init__(self, loaded: LoadedPlugin) -> None:
        self._loaded = loaded
        self.name, self.abilities, self.signature = loaded.name, loaded.part.abilities, loaded.signed()

    def make(self, asks: Sequence[Ask]) -> Iterator[tuple[int, GeneratedPicture | FailedPicture]]:
        """What the plugin makes."""
        results: Iterator[tuple[int, GeneratedPicture | FailedPicture]] = self._loaded.part.make(asks)
        return results
