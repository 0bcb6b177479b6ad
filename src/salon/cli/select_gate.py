"""The command that makes a gate, and the same one that uses it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from salon.cli.console import json_option, print_json, print_table, say, watching
from salon.cli.options import options_from, settings_from
from salon.errors import BadFile, InputError
from salon.judge.score import ScoreSettings
from salon.report.numbers import MISSING, fixed, with_interval
from salon.select.gate import Gate, GateRow, GateSettings, read_gate
from salon.select.gate_page import SIMULATED_GATE, gate_page
from salon.select.gate_use import GateRun, flag_criterion, gate_for_study, page_beside, pass_gate
from salon.select.scores import Watch
from salon.select.sealed import write_sealed
from salon.store.folder import open_study
from salon.store.plain_table import plain_target, write_plain


@click.command()
@click.argument("place", metavar="STUDY|IMAGES", type=click.Path(path_type=Path))
@click.option(
    "-s", "--scorer", "name", metavar="NAME", help="The scorer that says what is dangerous, as for salon score."
)
@click.option("--model", type=click.Path(path_type=Path), help="Folder of a trained model: its flag head.")
@click.option("--criterion", help="Criterion of the flags  [default: the only one of the study]")
@options_from(GateSettings)
@click.option("--use", type=click.Path(path_type=Path, dir_okay=False),
              help="Use this gate on the items of STUDY or IMAGES, in place of making one.")  # fmt: skip
@click.option("--prompt", help="With --use and IMAGES: the text that all of them were made for.")
@click.option("--device", help="Of networks: cpu, cuda, mps  [default: the best there is]")
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False),
              help="File of the gate, .json; with --use of what was held, .csv, .parquet or .jsonl.")  # fmt: skip
@click.option("--overwrite", is_flag=True, help="Replace a file that is there already.")
@json_option
def gate(
    place: Path,
    name: str | None,
    model: Path | None,
    criterion: str | None,
    use: Path | None,
    prompt: str | None,
    device: str | None,
    output: Path | None,
    overwrite: bool,
    as_json: bool,
    **flags: Any,
) -> None:
    """Hold back items that are likely to be flagged, at a threshold whose recall is promised.

    The threshold is chosen on the flags of STUDY that the scorer has not learned from, so that with the given
    confidence at least the wanted share of flagged items is found, exactly and for any number of items. What that
    costs in precision is printed beside it. With too few flagged items there is no gate, and the error says how many
    are needed. --use applies a gate to new items, and leaves a page of what was held back in gate/index.html.

    \b
      salon select gate study --model taste-heads --recall 0.9 -o gate.json
      salon select gate study -s words --criterion taste/hallucination --recall 0.8 --confidence 0.9 -o gate.json
      salon select gate renders/ --use gate.json -o held.csv
    """
    scoring = ScoreSettings(device=device)
    found: Gate | GateRun
    with watching("scoring", quiet=as_json) as watch:
        if use is not None:
            found = _use(place, use, name, prompt, output, overwrite, scoring, watch)
        else:
            _free(output, overwrite)
            settings = settings_from(GateSettings, flags)
            word = _word(place, name, model, criterion)
            gate = gate_for_study(place, word, settings, criterion=criterion, scoring=scoring, watch=watch)
            if output is not None:
                write_sealed(gate, output, overwrite=overwrite)
            found = gate
    if as_json:
        print_json({**found.model_dump(mode="json"), **({"hash": found.hash} if isinstance(found, Gate) else {})})
    elif isinstance(found, Gate):
        _print_gate(found, output)
    else:
        _print_run(found, output, page_beside(place))


def _free(output: Path | None, overwrite: bool) -> None:
    if output is not None and output.exists() and not overwrite:
        raise BadFile("a file is only replaced when asked to", found="a file that is there already", where=str(output),
                      remedy="choose another place, or add --overwrite")  # fmt: skip


def _word(place: Path, name: str | None, model: Path | None, criterion: str | None) -> str:
    """How the scorer is named: as given, or the head of the model that speaks about the flags."""
    if (name is None) == (model is None):
        raise InputError("one scorer is needed: -s NAME or --model FOLDER", found="none" if name is None else "both")
    if name is not None:
        return name
    return f"model:{model}@{flag_criterion(open_study(place), criterion).id}"


def _use(
    place: Path,
    use: Path,
    name: str | None,
    prompt: str | None,
    output: Path | None,
    overwrite: bool,
    scoring: ScoreSettings,
    watch: Watch,
) -> GateRun:
    if output is not None:
        plain_target(output, overwrite=overwrite)
    run = pass_gate(read_gate(use), place, prompt=prompt, scorer=name, scoring=scoring, watch=watch)
    if output is not None:
        write_plain(run.table(), output, overwrite=overwrite)
    gate_page(run, place).write(page_beside(place))
    return run


def _print_gate(gate: Gate, output: Path | None) -> None:
    side = "at or above" if gate.holds == "above" else "at or below"
    say(f"hold back {gate.column.scorer} {side} {gate.threshold:.4g}", bold=True)
    say(gate.promise)
    if gate.simulated:
        say("Simulated study: no person gave these answers.", fg="yellow")
    costs = gate.settings.miss_cost is not None and gate.settings.hold_cost is not None
    head = ("recall promised", "threshold", "expected", "precision", "held back", "missed of 1,000",
            "good held of 1,000", *(("cost",) if costs else ()))  # fmt: skip
    print_table(None, head, [_row(row, costs, row.recall == gate.settings.recall) for row in gate.table])
    say(f"{gate.positives:,} flagged and {gate.negatives:,} other held-out items; {gate.unscored:,} without a score")
    for why, count in gate.left_out.items():
        say(f"- left out: {count:,} {why}")
    for words in (gate.missing, *gate.notes):
        say(f"- {words}", dim=True)
    say(str(gate.signature), dim=True)
    if output is not None:
        say(f"wrote {output}")


def _row(row: GateRow, costs: bool, chosen: bool) -> Sequence[str]:
    first = f"{'> ' if chosen else ''}{row.recall:g}"
    if row.threshold is None or row.expected is None or row.precision is None or row.held is None:
        why = "no flagged item has a score" if row.needed is None else f"needs {row.needed} flagged"
        return (first, why, *[MISSING] * (5 + costs))
    return (
        first, fixed(row.threshold, 3), with_interval(row.expected),
        with_interval(row.precision),
        with_interval(row.held), fixed(row.missed, 1), fixed(row.held_good, 1),
        *((fixed(row.cost, 1),) if costs else ()),
    )  # fmt: skip


def _print_run(run: GateRun, output: Path | None, page: Path) -> None:
    say(f"{run.held:,} of {run.items:,} items of {run.place} are held back", bold=True)
    if run.simulated:
        say(SIMULATED_GATE, fg="yellow")
    if run.unscored:
        say(f"- {run.unscored:,} of them because they have no score")
    shown = [row for row in run.rows if row.held][:20]
    print_table(None, ("held", "score", "why"), [(row.item, fixed(row.value),
                                                  row.why) for row in shown], left=(0, 2))  # fmt: skip
    say(f"- {run.promise}", dim=True)
    say(f"- {run.missing}", dim=True)
    say(f"gate {run.gate}|{run.signature}", dim=True)
    for path in (output, page):
        if path is not None:
            say(f"wrote {path}")
