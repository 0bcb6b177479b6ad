"""make: task sets of any size, drawn here. Truth is known because everything that is shown was put there.

    made       ─ one item: a record and its picture
    deal       ─ letters and labels, balanced and shuffled
    words      ─ texts to set; briefs ─ what posters are for
    typefaces  ─ faces by what can be seen of them
    lettering  ─ words on a sheet
    patterns   ─ what letters can be filled with
    reading, fonts, effects, materials, posters, placing, emptiness, comparison, composition, rating ─ the makers
    generation ─ prompts for generators
    sets       ─ whole sets: records and pictures in a folder

An item is a function of its task, its number and the seed: a larger set begins with the smaller one, and however many
processes draw, the bytes are the same.
"""

from salon.bench.posters.make.sets import MADE, make_tasks

__all__ = ["MADE", "make_tasks"]
