"""bench: leaderboards whose published numbers never move.

suite, suite_folder, suite_drafts ─ what is asked, how it is judged, what it is measured against; frozen and hashed
entry, entry_files, submission, bundle ─ what one generator made of it, with the answers and scores it got
axes, result, reference ─ Capability, EPS, Overall and standings
judging, run          ─ judges, scorers and whole runs
board, verify, diff   ─ entries of one suite: kept, checked, compared
arena*, rater*, rewards* ─ what raters say of generators, and what raters are worth
site/                 ─ the board as pages
posters/              ─ the tasks of PosterIQ
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
