"""posters: the tasks of PosterIQ, scored so that a perfect answer is worth 1 and a blind one nothing.

task        ─ the 24 tasks: what is asked, where the truth is held, how an answer counts
files, item ─ the public JSON layout, in and out without loss
answers*    ─ what a response says, read strictly
metrics*    ─ what the answers are worth, with intervals; `groups` puts tasks together
compat      ─ the released scoring, reproduced with its faults, for comparison with published tables
points, made_posters ─ key points of generated posters, and what single posters lack
contestants, engines, measured* ─ who can answer here: perfect, random, blind; OCR engines; rules about pixels
report*     ─ the result as JSON and as a page
make/       ─ task sets of any size drawn here
"""
