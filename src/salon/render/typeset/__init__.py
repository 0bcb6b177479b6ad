"""Type: the catalogue of typefaces, shaping, line breaking, and text set into a frame with exact boxes of ink."""

from importlib.util import find_spec

from salon.errors import MissingExtra

if any(find_spec(name) is None for name in ("fontpkg", "uharfbuzz")):
    raise MissingExtra("generate")
