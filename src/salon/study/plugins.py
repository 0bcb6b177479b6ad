"""Parts that other people wrote, by the words that name them.

    redness                       an entry point of an installed package, group salon.scorers (see GROUPS)
    python:my_module:Redness      an object in a module: as it is, or made by calling it without arguments

A built-in name always means the built-in part. A plugin of the same name is refused, as `installed_plugins` says. What
a plugin computes names it in its signature: name, distribution and version.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
from collections.abc import Callable, Collection
from dataclasses import dataclass
from importlib.metadata import entry_points, packages_distributions, version
from typing import Any

from salon.errors import BadValue
from salon.study.nouns import Signature

PREFIX = "python:"


@dataclass(frozen=True)
class PluginKind:
    """What a plugin of one group must have."""

    noun: str
    protocol: str
    """Where its Protocol is."""
    members: tuple[str, ...]
    """Attributes and methods that Salon reads; none where it is only called."""

    @property
    def form(self) -> str:
        """What is needed, for messages."""
        return f"a {self.noun} with {', '.join(self.members)}" if self.members else f"a {self.noun} that can be called"


GROUPS = {
    "scorers": PluginKind("scorer", "salon.study.interfaces.Scorer", ("name", "card", "score")),
    "generators": PluginKind(
        "generator", "salon.study.interfaces.Generator", ("name", "abilities", "signature", "make")
    ),
    "judges": PluginKind("judge", "salon.judge.vlm.Vlm", ("name", "reply")),
    "formats": PluginKind("format", "salon.store.formats.FileFormat", ("name", "about", "recognise", "read")),
    "fits": PluginKind("fit", "salon.fuse.fits.Fit", ("name", "reads", "fit")),
    "captchas": PluginKind("captcha", "salon.study.interfaces.Captcha", ("name", "sources", "widget", "verify")),
    "rewards": PluginKind("reward", "salon.study.interfaces.RewardFunction", ()),
}
"""Plugins by the last word of their entry point group, `salon.scorers` and so on."""


@dataclass(frozen=True)
class Plugin:
    """A plugin, named but not loaded."""

    group: str
    word: str
    """How a user names it."""
    module: str
    attribute: str
    distribution: str | None
    version: str | None
    refused: str | None = None
    """Why it cannot be used."""

    @property
    def place(self) -> str:
        """Where it is in Python."""
        return f"{self.module}:{self.attribute}"

    @property
    def package(self) -> str | None:
        """Distribution and version; None where it belongs to none."""
        return None if self.distribution is None else f"{self.distribution} {self.version}"


@dataclass(frozen=True)
class LoadedPlugin:
    """The object behind a word, and where it comes from."""

    part: Any
    name: str
    origin: str
    """For signatures and notes: where it is, and its distribution and version, or a hash of its source."""

    def failed(self, error: Exception) -> BadValue:
        """The plugin's own exception, as an error that says whose it is."""
        return BadValue(
            f"an answer of the plugin {self.name!r} is needed",
            found=f"{type(error).__name__}: {error}",
            where=self.origin,
            remedy="salon plugins check WORD tries it out; SALON_DEBUG=1 shows the trace",
        )

    def signed(self) -> Signature:
        """The part's own signature with its origin; one made of both where it has none."""
        own = getattr(self.part, "signature", None)
        base = own if isinstance(own, Signature) else Signature(method=self.name)
        return base.model_copy(update={"settings": base.settings | {"plugin": self.origin}})


def is_python_word(word: str) -> bool:
    """Whether `word` names an object in a module."""
    return word.startswith(PREFIX)


def installed_plugins(group: str, builtin: Collection[str] = ()) -> list[Plugin]:
    """The installed plugins of a group by name; those that cannot be used say why."""
    points = sorted(
        entry_points(group=f"salon.{group}"),
        key=lambda point: (point.name, "" if point.dist is None else point.dist.name),
    )
    names = [point.name for point in points]
    plugins = []
    for point in points:
        refused = None
        if point.name in builtin:
            refused = "the name is built in"
        elif ":" in point.name:
            refused = "a name without a colon is needed"
        elif names.count(point.name) > 1:
            refused = "several packages have a plugin of this name"
        name, release = (None, None) if point.dist is None else (point.dist.name, point.dist.version)
        plugins.append(Plugin(group, point.name, point.module, point.attr or "", name, release, refused))
    return plugins


def find_plugin(group: str, word: str, builtin: Collection[str] = ()) -> Plugin | None:
    """The plugin that `word` names; None where there is none. BadValue for one that is refused."""
    if is_python_word(word):
        module, _, attribute = word.removeprefix(PREFIX).partition(":")
        if not module or not attribute:
            noun = GROUPS[group].noun
            raise BadValue(f"a {noun} as {PREFIX}MODULE:NAME is needed", found=repr(word))
        names = packages_distributions().get(module.partition(".")[0], ())
        package_of = (names[0], version(names[0])) if names else (None, None)
        return Plugin(group, word, module, attribute, *package_of)
    plugin = next((plugin for plugin in installed_plugins(group, builtin) if plugin.word == word), None)
    if plugin is not None and plugin.refused is not None:
        raise BadValue(f"the {GROUPS[group].noun} {word!r} is refused", found=plugin.refused, where=plugin.package)
    return plugin


def load_plugin(group: str, word: str, builtin: Collection[str] = ()) -> LoadedPlugin | None:
    """The object that `word` names, with all that its Protocol needs; None where `word` names no plugin."""
    plugin = find_plugin(group, word, builtin)
    if plugin is None:
        return None
    kind = GROUPS[group]
    part = _make_part(import_plugin_object(plugin), kind, plugin.place)
    missing = missing_members(group, part)
    if missing:
        raise BadValue(
            f"{kind.form} is needed",
            found=f"{type(part).__name__} without {', '.join(missing)}",
            where=plugin.place,
            remedy=f"see {kind.protocol}",
        )
    name = str(getattr(part, "name", "") or (plugin.attribute if is_python_word(word) else word))
    package = plugin.package or _source_hash(importlib.import_module(plugin.module))
    return LoadedPlugin(part, name, f"{plugin.place}, {package}")


def import_plugin_object(plugin: Plugin) -> Any:
    """What stands at a plugin's place, not called yet."""
    needed = f"a {GROUPS[plugin.group].noun} at {plugin.place} is needed"
    try:
        module = importlib.import_module(plugin.module)
    except Exception as error:  # a module of somebody else's may raise anything
        raise BadValue(
            needed,
            found=f"{plugin.module} cannot be imported: {type(error).__name__}: {error}",
            remedy="install its package, or put the module's folder on PYTHONPATH",
        ) from error
    part: Any = module
    for name in plugin.attribute.split("."):
        if not hasattr(part, name):
            own = [
                name for name, value in vars(module).items() if getattr(value, "__module__", None) == module.__name__
            ]
            names = [name for name in own if not name.startswith("_")][:8]
            remedy = f"it has {', '.join(names)}" if names else None
            raise BadValue(needed, found=f"no {name!r} in {plugin.module}", remedy=remedy)
        part = getattr(part, name)
    return part


def needs_arguments(function: Any) -> bool:
    """Whether a function cannot be called without arguments."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return True
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return any(
        parameter.default is inspect.Parameter.empty and parameter.kind not in variadic for parameter in parameters
    )


def missing_members(group: str, part: Any) -> list[str]:
    """What `part` lacks to be a plugin of `group`."""
    members = GROUPS[group].members
    if not members:
        return [] if callable(part) else ["__call__"]
    return [name for name in members if not hasattr(part, name)]


def plugin_lines(group: str, builtin: Collection[str] = ()) -> list[tuple[str, str]]:
    """Name and origin of every usable plugin, for lists and helps."""
    return [
        (plugin.word, f"plugin of {plugin.package}")
        for plugin in installed_plugins(group, builtin)
        if not plugin.refused
    ]


# -- helpers -------------------------------------------------------------------------------------------------------


def _make_part(part: Any, kind: PluginKind, where: str) -> Any:
    """The object itself; a class or a function that is no such part yet is called first."""
    is_factory = callable(part) and any(not hasattr(part, name) for name in kind.members)
    if not inspect.isclass(part) and not is_factory:
        return part
    if not inspect.isclass(part) and needs_arguments(part):
        return part  # what it lacks is said by the caller
    make: Callable[[], Any] = part
    try:
        return make()
    except Exception as error:
        raise BadValue(
            f"a {kind.noun} that can be made without arguments is needed",
            found=f"{type(error).__name__}: {error}",
            where=where,
            remedy="give every argument a default, or name a function that makes it",
        ) from error


def _source_hash(module: Any) -> str:
    """What stands for the version of a module that belongs to no distribution."""
    try:
        return f"source {hashlib.sha256(inspect.getsource(module).encode()).hexdigest()[:12]}"
    except (OSError, TypeError):
        return "without source"
