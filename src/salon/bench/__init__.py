"""bench: leaderboards whose published numbers never move.

suite ─ what is asked, how it is judged, what it is measured against; frozen and hashed
entry ─ what one generator made of it, with the answers and scores it got
board ─ entries of one suite, and snapshots of what raters say of them
site  ─ the board as pages
"""
