"""The poster renderer: a brief becomes a plan, a plan a poster of layers, and a poster PNG, SVG and layout JSON.

    brief ──plan──▶ PosterPlan ──(defects bend it)──▶ lay_out ──▶ Poster ──(defects disturb it)──▶ PNG · SVG · JSON

Drawings are data (`assets/motifs`); scenes, styles and arrangements are rules. Everything before the painters is
arithmetic on a seed: the same brief, generator and seed give the same layout JSON everywhere. Pixels are the same at
the same versions of the drawing libraries.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
