"""Fonts as the shaper and the painters use them: a face of the catalogue becomes a file with its axes set.

A weight a family lacks becomes the nearest one it has: bold is never smeared onto a cut that was not drawn so.
An italic a family lacks is its upright, slanted by `SLANT`.

The fonts come in packages of others, at pinned versions. Another file draws other letters, and a parser of fonts reads
whatever it is given. So a file is read once per process, its bytes are compared with a table that
`tools/font_hashes.py` writes, and the bytes that were checked are the bytes that are used.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import pathlib
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import NamedTuple

import fontpkg
import uharfbuzz

from salon.errors import BadFile, BadValue, MissingExtra
from salon.render.layout import Face
from salon.render.marks import Command, Path
from salon.render.shapes import bounds
from salon.render.typeset.families import FAMILIES, Family, find_family

# Files


TABLE = pathlib.Path(__file__).with_name("font_hashes.txt")
"""A line for each file: SHA-256, package==version, name."""


class PinnedFont(NamedTuple):
    """A font file as the pinned version of its package brings it."""

    sha256: str
    package: str
    version: str


@functools.cache
def pinned_fonts() -> dict[str, PinnedFont]:
    """Every font file that may be used, by its name."""
    fonts = {}
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        sha256, requirement, name = line.split("  ")
        package, _, pinned_version = requirement.partition("==")
        fonts[name] = PinnedFont(sha256, package, pinned_version)
    return fonts


@functools.cache
def read_font(file: pathlib.Path, package: str) -> bytes:
    """The bytes of a font file of an installed package; BadFile where they are not those of the pinned version."""
    pinned = pinned_fonts().get(file.name)
    if pinned is None or pinned.package != package:
        pins = sorted(
            {f"{font.package}=={font.version}" for font in pinned_fonts().values() if font.package == package}
        )
        needed = f"a font file of {pins[0] if pins else 'a font package that Salon names'} is needed"
        raise BadFile(needed, found=_installed(package), where=str(file), remedy=_remedy(pins))
    try:
        data = file.read_bytes()
    except OSError as error:
        needed = f"{file.name} of {package}=={pinned.version} is needed"
        remedy = _remedy([f"{package}=={pinned.version}"])
        raise BadFile(needed, found=error.strerror or str(error), where=str(file), remedy=remedy) from None
    digest = hashlib.sha256(data).hexdigest()
    if digest != pinned.sha256:
        raise BadFile(
            f"{file.name} of {package}=={pinned.version} is needed, a file with the SHA-256 {pinned.sha256}",
            found=f"SHA-256 {digest}, {_installed(package)}",
            where=str(file),
            remedy=_remedy([f"{package}=={pinned.version}"]),
        )
    return data


def _installed(package: str) -> str:
    try:
        return f"{package} {version(package)} installed"
    except PackageNotFoundError:
        return f"{package} not installed"


def _remedy(pins: list[str]) -> str:
    command = f"pip install --force-reinstall --no-deps {pins[0]}" if pins else "pip install --upgrade salon"
    return f"install the pinned version: {command}"


# Fonts


__all__ = ["FAMILIES", "SLANT", "Extents", "Family", "LoadedFont", "load_font", "parse_key"]

SLANT = 0.2
"""Run over rise of a slanted upright: x' = x + SLANT * height."""

Extents = tuple[float, float, float, float]
"""Left, top, right and bottom of some ink, in ems, y downwards from the baseline."""


@dataclass(frozen=True, eq=False)
class LoadedFont:
    """One cut, ready for shaping and painting."""

    family: Family
    face: Face
    """As asked for."""
    key: str
    """Of the face: how marks name the font."""
    file: pathlib.Path
    data: bytes = field(repr=False)
    index: int
    variations: dict[str, float]
    synthetic_oblique: bool
    """The painter slants it by `SLANT`; `hb` does already."""
    hb: uharfbuzz.Font = field(repr=False)
    characters: frozenset[int] = field(repr=False)
    """Every code point it has a glyph for."""
    _extents: dict[int, Extents | None] = field(default_factory=dict, repr=False)
    _outlines: dict[int, tuple[Command, ...]] = field(default_factory=dict, repr=False)

    @property
    def upem(self) -> int:
        """Font units to the size."""
        return int(self.hb.face.upem)

    @functools.cached_property
    def cap_height(self) -> float:
        """Height of H in ems."""
        glyph = self.hb.get_nominal_glyph(ord("H"))
        extents = None if glyph is None else self.extents(glyph)
        return -extents[1] if extents else 0.7

    def extents(self, glyph: int) -> Extents | None:
        """The ink of a glyph placed at (0, 0), or None where it has none."""
        if glyph not in self._extents:
            left, top, right, bottom = self._slanted(glyph) if self.synthetic_oblique else self._upright(glyph)
            box = (left / self.upem, -top / self.upem, right / self.upem, -bottom / self.upem)
            self._extents[glyph] = box if left < right and bottom < top else None
        return self._extents[glyph]

    def outline(self, glyph: int) -> tuple[Command, ...]:
        """The commands of `marks.Path` for a glyph, in font units, y upwards."""
        if glyph not in self._outlines:
            commands: list[Command] = []
            self.hb.draw_glyph(glyph, _drawing(), commands)
            self._outlines[glyph] = tuple(commands)
        return self._outlines[glyph]

    def _upright(self, glyph: int) -> Extents:
        """Left, top, right, bottom in font units, y upwards, as HarfBuzz has it from the outline's points."""
        ink = self.hb.get_glyph_extents(glyph)
        return ink.x_bearing, ink.y_bearing, ink.x_bearing + ink.width, ink.y_bearing + ink.height

    def _slanted(self, glyph: int) -> Extents:
        """The same from the curves: slanting moves their extremes away from the points."""
        box = bounds(Path(self.outline(glyph)))
        return box.x, box.bottom, box.right, box.y


def load_font(face: str | Face) -> LoadedFont:
    """The font of a face or of its key ('Playfair Display:700:italic'), loaded once per process."""
    return _load(face if isinstance(face, str) else face.key)


def parse_key(key: str) -> Face:
    """The face a key names; the inverse of `Face.key`."""
    family, _, rest = key.partition(":")
    weight, _, slant = rest.partition(":")
    if not (weight or "400").isdecimal() or slant not in ("", "italic"):
        raise BadValue("a face is named 'family:weight' or 'family:weight:italic'", found=repr(key))
    return Face.parse({"family": family, "weight": int(weight or 400), "italic": slant == "italic"}, where="a face")


@functools.cache
def _load(key: str) -> LoadedFont:
    face = parse_key(key)
    family = find_family(face.family)
    weight = family.nearest(face.weight)
    # the file of a cut and whether it is a drawn italic
    if "cjk" in family.scripts:
        spec = importlib.util.find_spec("justmytype_intl_cjk")
        if spec is None or spec.origin is None:
            raise MissingExtra("cjk")
        folder = pathlib.Path(spec.origin).parent / "fonts" / "ofl" / family.package.lower()
        file, italic = folder / f"{family.package}[wght].ttf", False
    else:
        try:
            installed = fontpkg.family(family.package)
        except fontpkg.FamilyNotInstalled:
            raise MissingExtra("generate") from None
        style = "italic" if face.italic and "italic" in installed.styles else "normal"
        file, italic = fontpkg.select_file(installed, weight, style, nearest=True).path, style == "italic"
    package = "justmytype-intl-cjk" if "cjk" in family.scripts else f"fontpkg-{fontpkg.family(family.package).slug}"
    data = read_font(file, package)
    hb_face = uharfbuzz.Face(uharfbuzz.Blob(data), 0)
    axes = {axis.tag: axis for axis in hb_face.axis_infos}
    places = {tag: float(axis.default_value) for tag, axis in axes.items()} | family.axes
    if "wght" in axes:
        places["wght"] = float(weight)
    if "slnt" in axes:
        places["slnt"] = float(axes["slnt"].min_value) if face.italic else 0.0
    variations = {tag: float(place) for tag, place in places.items()}
    font = uharfbuzz.Font(hb_face)
    font.scale = (hb_face.upem, hb_face.upem)
    font.set_variations(variations)
    slanted = face.italic and not italic and "slnt" not in axes
    if slanted:
        font.synthetic_slant = SLANT
    return LoadedFont(family, face, face.key, file, data, 0, variations, slanted, font, frozenset(hb_face.unicodes))


@functools.cache
def _drawing() -> uharfbuzz.DrawFuncs:
    """HarfBuzz's pen: every stroke is appended to the list it is given."""
    pen = uharfbuzz.DrawFuncs()
    pen.set_move_to_func(lambda x, y, out: out.append(("M", x, y)))
    pen.set_line_to_func(lambda x, y, out: out.append(("L", x, y)))
    pen.set_quadratic_to_func(lambda x1, y1, x, y, out: out.append(("Q", x1, y1, x, y)))
    pen.set_cubic_to_func(lambda x1, y1, x2, y2, x, y, out: out.append(("C", x1, y1, x2, y2, x, y)))
    pen.set_close_path_func(lambda out: out.append(("Z",)))
    return pen
