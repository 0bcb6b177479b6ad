"""posters: the tasks of PosterIQ, scored so that a perfect answer is worth 1 and a blind one nothing.

tasks             ─ the 24 tasks: what is asked, where the truth is held, how an answer counts
files, item       ─ the public JSON layout, in and out without loss
answers_*         ─ what a response says, read strictly
item_scores, metrics, score ─ what the answers are worth, with intervals; tasks in groups; one report
comparison, paper_tables    ─ several contestants side by side, and the tables of the paper
compat            ─ the released scoring, reproduced with its faults, for comparison with published tables
contestants, pixel_contestant, run ─ who can answer here: perfect, random, blind; OCR engines; rules about pixels; VLMs
generate, judge, judge_protocol, measurement ─ posters by generators, and who says what is on them
*_report          ─ results as pages
make/             ─ task sets of any size drawn here
"""
