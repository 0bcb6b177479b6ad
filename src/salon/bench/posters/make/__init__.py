"""make: task sets of any size, drawn here. Truth is known because everything that is shown was put there.

    items       ─ what makers share: the item, balanced choices, texts to set, faces
    lettering   ─ words on a sheet, and grounds like photographs
    briefs      ─ what posters are for, and prompts for generators
    sheets, fonts, materials, posters, composition ─ the makers
    sets        ─ whole sets: records and pictures in a folder

An item is a function of its task, its number and the seed: a larger set begins with the smaller one, and however many
processes draw, the bytes are the same.
"""

from salon.bench.posters.make.sets import MADE, make_tasks

__all__ = ["MADE", "make_tasks"]
