"""The command that takes a rater out of a study."""

from __future__ import annotations

import click

from salon.cli.console import count, json_option, print_json, say
from salon.collect.studio.erase import Holding, erase_rater, holding_of
from salon.errors import BadValue
from salon.store.folder import local

ELSEWHERE = (
    "backups, exports, merged studies, labels, reports and models made before still hold what they gave: "
    "make those anew, or delete them"
)


@click.command()
@click.argument("study", type=click.Path())
@click.option("--rater", required=True, metavar="ID", help="Who is erased, by the id in the table of raters.")
@click.option("--yes", is_flag=True, help="Erase without asking.")
@json_option
def erase(study: str, rater: str, yes: bool, as_json: bool) -> None:
    """Delete a rater and everything they gave from the study folder STUDY, for good.

    Their row among the raters goes, all their judgments, and in a studio of the folder also profile, consent, visits
    and links. The study gets a new revision that says that somebody was erased, not who. Close an open studio first, or
    erase on its page of raters, as where a studio has its database elsewhere (salon serve --db).

    \b
      salon erase posters --rater designers-7
      salon erase posters --rater designers-7 --yes --json
    """
    folder = local(study)
    holding = holding_of(folder, rater)
    if not yes:
        if as_json:
            raise BadValue("--yes is needed beside --json: nobody can be asked", remedy="add --yes")
        say(f"erases {rater!r} from {folder} for good: {_gone(holding)}")
        click.confirm("Erase?", abort=True)
    erase_rater(folder, holding)
    if as_json:
        print_json({"study": study, "erased": rater, "judgments": holding.judgments, "studio_answers": holding.answers})
        return
    say(f"erased {rater!r} from {folder}: {_gone(holding)}")
    say(f"- {ELSEWHERE}", dim=True)


def _gone(holding: Holding) -> str:
    """`12 comparisons and their row in the tables; 30 answers in the studio`."""
    told = []
    if holding.judgments is not None:
        given = [f"{number:,} {kind if number > 1 else kind[:-1]}" for kind, number in holding.judgments.items()]
        told.append(f"{', '.join(given) or 'no judgments'} and their row among the raters")
    if holding.answers is not None:
        told.append(f"{count(holding.answers, 'answered question')} in the studio, profile, consent, visits and links")
    return "; ".join(told)
