"""salon select: put scores to work."""

from __future__ import annotations

import click

from salon.cli.later import LaterGroup

LATER: dict[str, tuple[str, str]] = {
    "best": ("salon.cli.select_best:best", "The best picture of each prompt: of a study, of files, or of N drawn."),
    "gate": ("salon.cli.select_gate:gate", "Hold back what is likely to be flagged, with a promised recall."),
    "route": ("salon.cli.select_route:route", "Which generator to call, by criterion weights and category."),
    "cohp": ("salon.cli.select_cohp:cohp", "Scores choose who draws, then draw on from the best picture."),
    "refine": ("salon.cli.select_refine:refine", "Draw, have a VLM look and revise the prompt, draw again."),
    "reference": ("salon.cli.select_reference:reference", "Freeze where scores lie on a study, to weigh criteria by."),
    "explain": ("salon.cli.select_explain:explain_command", "Why a picture has its score, or stands above another."),
    "pairs": ("salon.cli.select_pairs:pairs", "Preference pairs for DPO, in the columns of diffusers and TRL."),
    "feedback": ("salon.cli.select_feedback:feedback", "Later human choices of a service's log, as a study."),
    "drift": ("salon.cli.select_feedback:drift", "Have a service's scores moved, and do people still agree?"),
}
"""Commands whose module is loaded when they are called, and what the list says of them."""


@click.group(cls=LaterGroup, later=LATER)
def select() -> None:
    """Pick the best picture, hold back the bad ones, choose who draws, and draw better ones.

    \b
      salon select best study --model taste-heads                                   the best picture of every prompt
      salon select best briefs:posters -g atelier -n 8 -s palette -o picked --limit 4    the best of eight drawings
      salon select explain poster.png --model taste-heads --html why.html           why a picture has its score
    """
