"""The command that says which generator to call."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import click

from salon.cli.console import count, json_option, print_json, print_table, say, seed_option, working
from salon.errors import BadFile, InputError
from salon.generate.prompts import read_prompts
from salon.report.numbers import MISSING
from salon.select.route import Choice, Explore, Routes, heed
from salon.select.route_study import routes_in, study_routes
from salon.select.route_use import choices, read_feedback
from salon.select.sealed import write_sealed
from salon.store.atomic import in_turn


@click.command()
@click.argument("place", metavar="STUDY|ARENA|FUSED|ROUTES", type=click.Path(path_type=Path))
@click.option("-w", "--weights", help="Criterion weights: typography=3,mood=1  [default: all criteria alike]")
@click.option("--prior", type=click.FloatRange(0, 100, min_open=True),
              help="With STUDY: standard deviation of a prior on scores, for generators that never lost.")  # fmt: skip
@click.option("--prompts", help="Say who draws each of these prompts; as for salon generate.")
@click.option("--explore", type=click.Choice(["no", "thompson", "ucb"]), default="no", show_default=True,
              help="With --prompts: try others than the best, by how uncertain their scores are.")  # fmt: skip
@click.option("-c", "bound", type=click.FloatRange(0), default=1.0, show_default=True,
              help="With --explore ucb: standard errors above the score.")  # fmt: skip
@click.option("--feedback", type=click.Path(path_type=Path, dir_okay=False),
              help="With ROUTES: comparisons that came back, as lines of JSON; they move the scores.")  # fmt: skip
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="File of the routes, .json.")
@click.option("--overwrite", is_flag=True, help="Replace a file that is there already.")
@seed_option
@json_option
def route(
    place: Path,
    weights: str | None,
    prior: float | None,
    prompts: str | None,
    explore: Explore,
    bound: float,
    feedback: Path | None,
    output: Path | None,
    overwrite: bool,
    seed: int,
    as_json: bool,
) -> None:
    """Which generator for which job: criteria weighed against each other, category by category.

    Made from the judgments of a STUDY, from a snapshot of an ARENA (salon bench arena --json), or from FUSED scores
    (salon fuse --by generator --json). A job's answer is the generator with the highest score; those that cannot be
    told from it are named. A prompt of a category without an answer is decided by all categories together. salon
    select best --route takes the file.

    \b
      salon select route study -o routes.json
      salon select route study -w typography=3,mood=1 -o routes.json
      salon select route routes.json --prompts briefs:posters --explore thompson --seed 7
      salon select route routes.json --feedback heard.jsonl -o routes.json --overwrite
    """
    if output is not None and output.exists() and not overwrite:
        raise BadFile("a file is only replaced when asked to", found="a file that is there already", where=str(output),
                      remedy="choose another place, or add --overwrite")  # fmt: skip
    with in_turn(output) if output is not None else nullcontext():  # two that heed feedback both move the routes
        routes = _routes(place, weights, prior, seed)
        if feedback is not None:
            routes = heed(routes, read_feedback(feedback))
        if output is not None:
            write_sealed(routes, output, overwrite=overwrite)
    chosen = None
    if prompts is not None:
        asked = read_prompts(prompts)
        chosen = choices(routes, asked, weights=weights, explore=explore, c=bound, seed=seed)
    if as_json:
        told = {**routes.model_dump(mode="json"), "hash": routes.hash}
        if chosen is not None:
            told["choices"] = [one.model_dump(mode="json") for one in chosen]
        print_json(told)
        return
    _print(routes, chosen, output)


def _routes(place: Path, weights: str | None, prior: float | None, seed: int) -> Routes:
    if place.is_dir():
        with working("fitting boards") as step:
            return study_routes(place, weights=weights, prior=prior, seed=seed, progress=step)
    if prior is not None:
        raise InputError("--prior goes with a study", found=str(place))
    return routes_in(place, weights)


def _print(routes: Routes, chosen: list[Choice] | None, output: Path | None) -> None:
    say(f"routes from {routes.source}" + (" (simulated raters)" if routes.simulated else ""), bold=True)
    rows = []
    for one in routes.routes:
        where = one.category or "all"
        if not one.arms:
            rows.append((one.job, where, MISSING, MISSING, one.reason or "no answer"))
            continue
        top = one.arms[0]
        score = f"{top.score:.3f}" + ("" if top.sd is None else f" ± {top.sd:.3f}")
        tied = ", ".join(arm.generator for arm in one.arms[1:] if arm.best) or MISSING
        rows.append((one.job, where, top.generator, score, tied))
    print_table(None, ("job", "category", "call", "score ± se", "not told from it"), rows, left=(0, 1, 2, 4))
    if chosen is not None:
        lines = [(one.prompt, one.asked or MISSING, one.generator, one.why) for one in chosen]
        print_table("\nwho draws what", ("prompt", "category", "generator", "why"), lines, left=(0, 1, 2, 3))
    for words in routes.policies:
        say(f"- {words}", dim=True)
    if routes.heard:
        say(f"- {count(routes.heard, 'comparison')} came back since", dim=True)
    say(str(routes.signature), dim=True)
    if output is not None:
        say(f"wrote {output}")
