"""`salon plugins`: list the installed plugins, and check that one keeps to its Protocol."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import click

from salon.cli.console import json_option, print_json, print_table, say
from salon.errors import BadValue
from salon.study import GROUPS, Noun


@click.group()
def plugins() -> None:
    """Parts that other packages add: scorers, generators, judges, formats, fits, captchas, rewards.

    \b
      salon plugins list
      salon plugins check redness
      salon plugins check python:my_module:Redness --kind scorers
    """


@plugins.command("list")
@json_option
def list_(as_json: bool) -> None:
    """The installed plugins with their package and version; no plugin is loaded.

    \b
      salon plugins list --json
    """
    plugin_lines = list_plugins()
    if as_json:
        print_json({"plugins": [plugin.model_dump(mode="json") for plugin in plugin_lines]})
        return
    if not plugin_lines:
        say("no plugins are installed; python:MODULE:NAME takes an object without a package")
        return
    rows = [
        (plugin.group, plugin.name, plugin.place, plugin.package or "", plugin.refused or "") for plugin in plugin_lines
    ]
    print_table(None, ("kind", "name", "object", "package", "refused"), rows, left=(0, 1, 2, 3, 4))


@plugins.command()
@click.argument("word")
@click.option("--kind", type=click.Choice(list(GROUPS)), help="Which kind it is  [default: where the name is known]")
@click.option("--file", type=click.Path(path_type=Path, exists=True, dir_okay=False), help="Of a format: a file of it.")
@json_option
def check(word: str, kind: str | None, file: Path | None, as_json: bool) -> None:
    """Does the plugin WORD do what Salon relies on? Exit code 1 when a check fails.

    It is loaded and tried on small drawn pictures and judgments: one answer for each question, the same input the same
    output, no influence of the batch, numbers on the declared scale, no number for what cannot be read.

    \b
      salon plugins check redness
      salon plugins check duel --file votes.duel
      salon plugins check python:my_module:Redness --kind scorers
    """
    from salon.conformance import check_plugin

    kind = kind or _kind_of(word)
    report = check_plugin(kind, word, builtin_words(kind), file=file)
    if as_json:
        print_json(report)
    else:
        say(f"{word}, one of salon.{kind}: {report.origin}", bold=True)
        rows = [("yes" if row.passed else "NO", row.name, row.found) for row in report.checks]
        print_table(None, ("passed", "check", "found"), rows, left=(0, 1, 2))
    raise SystemExit(0 if report.passed else 1)


def _kind_of(word: str) -> str:
    """The kind that an installed plugin has."""
    from salon.study import find_plugin, is_python_word

    kinds = [] if is_python_word(word) else [kind for kind in GROUPS if find_plugin(kind, word, builtin_words(kind))]
    if len(kinds) != 1:
        raise BadValue(
            "the kind of the plugin is needed",
            found=f"{word!r} is of {' and '.join(kinds)}" if kinds else f"no installed plugin {word!r}",
            remedy=f"--kind {'|'.join(kinds or GROUPS)}; salon plugins list names those installed",
        )
    return kinds[0]


# -- the list -------------------------------------------------------------------------------------------------------


class PluginLine(Noun):
    """An installed plugin."""

    group: str
    name: str
    place: str
    package: str | None
    refused: str | None


def builtin_words(group: str) -> list[str]:
    """Names of a group that always mean a built-in part."""
    from salon.fuse import Method
    from salon.generate import builtin_generators
    from salon.judge import builtin_scorers
    from salon.store import KINDS

    if group in ("scorers", "rewards"):
        return builtin_scorers()
    if group == "generators":
        return builtin_generators()
    return {"formats": [*KINDS, "pictures"], "fits": ["auto", *get_args(Method)]}.get(group, [])


def list_plugins() -> list[PluginLine]:
    """Every installed plugin by kind and name."""
    from salon.study import installed_plugins

    return [
        PluginLine(group=group, name=plugin.word, place=plugin.place, package=plugin.package, refused=plugin.refused)
        for group in GROUPS
        for plugin in installed_plugins(group, builtin_words(group))
    ]
