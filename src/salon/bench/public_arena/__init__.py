"""A public arena: which pictures strangers compare next, a live board of their votes, and who votes unlike all others.

`ballots` deals, `votes` reads what was cast, `live_board` fits, `anomalies` looks for attacks, and `release` writes the
votes as a dataset. `salon.web.arena` shows it in the browser.
"""
