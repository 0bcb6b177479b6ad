"""The command that makes labels of a VLM's own answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from salon.cli.console import counting, json_option, print_json, print_table, say, working
from salon.cli.given import given_study
from salon.cli.judge_asked import judge_options
from salon.cli.options import SectionedCommand, options_from, settings_from
from salon.evaluate.pseudo_scores import LabelCard, PseudoScores, read_pseudo_scores
from salon.judge.named import Named, check_budget, named_vlm
from salon.judge.run import Noting
from salon.report.numbers import MISSING, fixed
from salon.store.folder import local
from salon.train.distill_label import (
    LabelForecast,
    LabelPlan,
    check_labels_target,
    drift_warnings,
    forecast_labels,
    plan_labels,
    write_labels,
)
from salon.train.distill_label_ask import Tally
from salon.train.distill_label_settings import LabelSettings


@click.command(cls=SectionedCommand)
@click.argument("study", type=click.Path(path_type=Path))
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="Folder for the labels.")
@options_from(LabelSettings)
@judge_options
@click.option("--overwrite", is_flag=True, help="Replace labels of other settings, another judge or another study.")
@click.option("--dry-run", is_flag=True, help="Say how many calls it takes and what they may cost, and ask nothing.")
@json_option
def label(study: Path, output: Path, overwrite: bool, dry_run: bool, as_json: bool, **flags: Any) -> None:
    """Labels for the items of STUDY from a VLM's own answers, without any person.

    The bridge compares a pool exhaustively and places every other item on its scale; the other sources are what it is
    measured against. A call asks about all criteria at once. Every answer is kept before it is used: run the same
    command again to go on after an interruption, or to ask again what got no reply. Exit code 0 when every question
    got a reply, 1 when some did not.

    \b
      salon distill label study -o labels --model openai:qwen@http://localhost:8000/v1
      salon distill label study -o labels --transformers ./Qwen3-VL-8B --adaptive --target-sd 0.8
      salon distill label study -o votes --source majority --model qwen --dry-run      how many calls?
      salon distill label study -o single --source pointwise --max-calls 30725 --model qwen
      salon distill label study -o labels --simulated accuracy=0.8,bias=0.1            try it out, without a model
    """
    named, settings = settings_from(Named, flags), settings_from(LabelSettings, flags)
    found = given_study(local(study))
    with working("looking at pictures") as step:
        plan = plan_labels(found, study, named, settings, step)
    with named_vlm(named, found, study) as vlm:
        check_labels_target(plan, vlm, output, overwrite=overwrite)
        priced = dry_run or named.budget is not None
        cast = forecast_labels(plan, vlm) if priced else LabelForecast(plan.budget.calls, 0, None)
        warning = check_budget(named.budget, cast.cost_at_most, cast.calls - cast.stored)
        if dry_run:
            _print_forecast(plan, cast, vlm.name, warning, as_json)
            return
        say(f"{vlm.name}: {_sum(plan)}", err=True)
        for told in [*([warning] if warning else []), *drift_warnings(plan, vlm, named.canaries)]:
            say(f"note: {told}", fg="yellow", err=True)
        with counting("asking", quiet=as_json) as watch:
            card, tally = write_labels(plan, vlm, output, watch, overwrite=overwrite)
        notes = vlm.notes() if isinstance(vlm, Noting) else []
    if as_json:
        print_json(card.model_dump(mode="json") | {"folder": str(output), "stored": tally.stored, "notes": notes})
    else:
        _print_labels(card, tally, read_pseudo_scores(output), output, notes)
    if card.calls_failed:
        click.get_current_context().exit(1)


def _sum(plan: LabelPlan) -> str:
    at_most = "at most " if plan.settings.adaptive and plan.settings.source == "bridge" else ""
    return f"{at_most}{plan.budget.calls:,} calls = {plan.budget.words()}"


def _print_forecast(plan: LabelPlan, cast: LabelForecast, name: str, warning: str | None, as_json: bool) -> None:
    if as_json:
        cost = None if cast.cost_at_most is None else float(cast.cost_at_most)
        told = {"dry_run": True, "judge": name, "source": plan.settings.source, "items": len(plan.items)}
        told |= {"calls": cast.calls, "stored": cast.stored, "cost_at_most": cost, "sum": plan.budget.words()}
        print_json(told)
        return
    say(f"{name} would be asked about {len(plan.items):,} items", bold=True)
    priced = "not known: give a price list with --prices"
    rows = [
        ("calls", _sum(plan)),
        ("answered already", f"{cast.stored:,}"),
        ("cost", priced if cast.cost_at_most is None else f"at most {cast.cost_at_most:.4f}"),
    ]
    print_table(None, ("", ""), rows, left=(0, 1))
    if warning:
        say(f"note: {warning}", fg="yellow")


def _print_labels(card: LabelCard, tally: Tally, scores: PseudoScores, output: Path, notes: list[str]) -> None:
    if card.simulated:
        say("SIMULATED: no model gave these answers.")
    say(f"{card.judge}, {card.source}: {card.labelled:,} of {card.items:,} items labelled", bold=True)
    if card.source == "majority":
        assert scores.pairs is not None  # majority labels are pairs
        say(f"- {len(scores.pairs):,} labels of pairs and criteria, {(scores.pairs.p == 0.5).mean():.0%} level")
    else:
        print_table(None, ("criterion", "items", "mean", "spread", "median sd", "ties"), _rows(card, scores))
    say(f"- {card.calls_made:,} calls ({card.calls_planned:,} planned), {tally.stored:,} from the store")
    if card.unread:
        say("- not read: " + ", ".join(f"{id} {count:,}" for id, count in card.unread.items()))
    for warning in card.warnings:
        say(f"warning: {warning}", fg="yellow", err=True)
    for note in (*card.policies, *notes):
        say(f"- {note}", dim=True)
    say(f"wrote {output}")
    say(card.signature, dim=True)


def _rows(card: LabelCard, scores: PseudoScores) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for number, id in enumerate(scores.criteria):
        known = [value for value in scores.values[:, number] if value == value]
        errors = sorted(error for error in scores.sd[:, number] if error == error)
        mean = sum(known) / len(known) if known else None
        spread = None
        if mean is not None and len(known) > 1:
            spread = (sum((value - mean) ** 2 for value in known) / (len(known) - 1)) ** 0.5
        middle = errors[len(errors) // 2] if errors else None
        ties = card.ties.get(id)
        told = (fixed(mean, 2), fixed(spread, 2), fixed(middle, 2), MISSING if ties is None else f"{ties:.0%}")
        rows.append((id, f"{len(known):,}", *told))
    return rows
