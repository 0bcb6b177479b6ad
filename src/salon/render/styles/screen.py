"""Styles of the screen: Glitch Art, Pixel Art."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np

from salon.render.colors import from_oklch, mix, oklch
from salon.render.layout import Box
from salon.render.marks import Color, Command, Fill, Glyphs, Grain, Group, Path
from salon.render.motifs import MotifShape
from salon.render.plan import Palette, Stage, Style, StyledText
from salon.render.shapes import bounds, joined, rect
from salon.render.styles.ways import (
    BLACK,
    WHITE,
    Marks,
    boxed,
    canvas,
    clipped,
    copies,
    flat,
    inked,
    is_dark,
    mirror_behind_panel,
    night,
    scene,
    shade,
    shape_mark,
    size_of,
    spots,
    stands_out,
    vivid,
    whole,
)

Scene = Callable[[float, float], Marks]
"""What of a picture lies between two heights."""

RED, CYAN = "#ff2d55", "#00e5ff"
"""The two halves a split signal falls into."""


class GlitchArt(Style):
    """A broken signal: torn bands, split channels, scan lines, blocks of stuck data, noise."""

    name = "Glitch Art"
    moods = ("futuristic", "mysterious", "bold", "serious")
    displays = (("Archivo Black", 400), ("Anton", 400), ("Space Grotesk", 700))
    texts = (("Space Mono", 400), ("JetBrains Mono", 400))
    case = "upper"
    arrangements = ("full-bleed", "big-type", "split", "hero-top", "hero-bottom", "mark-above", "mark-left")
    scale = 1.1

    def tune(self, palette: Palette, rng: np.random.Generator) -> Palette:
        """A screen switched on in the dark."""
        return night(palette, 0.14, chroma=0.03, glow=0.19, hue=265)

    def ground(self, stage: Stage) -> Marks:
        """A dark tube with a few smears and lost blocks off the text."""
        palette, u, rng = stage.palette, stage.unit, stage.rng
        marks: Marks = (Fill(canvas(stage), palette.ground),)
        if stage.format == "logo":
            return marks
        places = spots(stage, whole(stage), 12, 64 * u, gap=8 * u)
        for (x, y), color in zip(places, (palette.primary, palette.accent, CYAN, palette.secondary) * 3):
            near = Box(x=x - 28 * u, y=y - 10 * u, width=6 * u, height=8 * u)
            bars = rect(x - 28 * u, y + 18 * u, 56 * u, 3 * u)
            marks += (Fill(joined(stuck(near, 1, u * 0.6, rng), bars), color),)
        return marks

    def picture(self, stage: Stage, box: Box) -> Marks:
        """A damaged frame: channels apart, bands torn sideways, blocks stuck; a logo is the motif alone."""
        palette, u, rng = stage.palette, stage.unit, stage.rng
        logo = stage.format == "logo"
        heights = [(shape, bounds(shape.path)) for shape in scene(stage, box)]

        def frame(top: float, bottom: float) -> Marks:
            """What of the picture lies between two heights: a band need not draw the rest."""
            shapes = tuple(shape for shape, at in heights if at.y < bottom + 20 * u and at.bottom > top - 20 * u)
            field = Fill(boxed(box), palette.ground if logo else _low(palette))
            # the motif with a red ghost to one side and a cyan one to the other
            shift = (9 if logo else 16) * u
            far = mix(palette.ground, palette.secondary, 0.5)
            colors = (_low(palette), far, palette.secondary, palette.primary, palette.accent, WHITE)
            solid = [shape for shape in shapes if shape.tone >= 2]
            ghosts = tuple(
                Group(tuple(shape_mark(shape, color) for shape in solid), transform=(1.0, 0.0, 0.0, 1.0, dx, 0.0))
                for color, dx in ((RED, shift), (CYAN, -shift))
            )
            return (field, *mirror_behind_panel(stage, box, (*ghosts, *flat(shapes, colors))))

        if logo:
            return (*frame(box.y, box.bottom)[1:], *torn(frame, box, 4, 30 * u, rng))
        debris = tuple(
            Fill(joined(stuck(box, 3, u, rng), streaks(box, 6, u, rng)), color)
            for color in (palette.accent, palette.primary, CYAN, WHITE)
        )
        lines = Fill(scan_lines(box, 5 * u), BLACK, opacity=0.3)
        broken = (*frame(box.y, box.bottom), *torn(frame, box, 11, 90 * u, rng))
        return (clipped((*broken, *debris, lines), boxed(box)),)

    def finish(self, stage: Stage) -> Marks:
        """Faint noise over the tube."""
        return (Grain(canvas(stage), 0.10, int(stage.rng.integers(2**31)), speck=2.0),)

    def panel(self, stage: Stage, box: Box) -> Marks:
        """A window of the broken interface: surface with a red and a cyan ghost edge."""
        palette, u = stage.palette, stage.unit
        left, right = (rect(box.x + d, box.y + d * 0.6, box.width, box.height) for d in (-7 * u, 7 * u))
        return Fill(left, CYAN), Fill(right, RED), Fill(boxed(box), palette.surface)

    def letter(self, stage: Stage, role: str, glyphs: tuple[Glyphs, ...]) -> StyledText:
        """Headlines with the channels apart and a thin band of each line slipped."""
        if role != "headline" or not stands_out(stage, glyphs):
            return StyledText(glyphs)
        shift = size_of(glyphs) * 0.035
        split = (*copies(glyphs, CYAN, -shift), *copies(glyphs, RED, shift), *glyphs)
        slipped = []
        for run in glyphs:
            top = max(run.ys) - run.size * 0.24
            band = rect(min(run.xs) - run.size, top, max(run.xs) - min(run.xs) + 3 * run.size, run.size * 0.07)
            slipped.append(Group((run,), clip=band, transform=(1.0, 0.0, 0.0, 1.0, shift * 1.6, 0.0)))
        return StyledText((*split, *slipped), ("chromatic",))


def torn(scene: Scene, box: Box, count: int, reach: float, rng: np.random.Generator) -> Marks:
    """Bands of a scene drawn again beside themselves."""
    bands = []
    for y in np.sort(rng.uniform(box.y, box.bottom, count)).tolist():
        height = box.height * float(rng.choice((0.008, 0.015, 0.03, 0.055)))
        shift = reach * float(rng.uniform(0.3, 1.0)) * float(rng.choice((-1, 1)))
        band = rect(box.x - reach, y, box.width + 2 * reach, height)
        bands.append(Group(scene(y, y + height), clip=band, transform=(1.0, 0.0, 0.0, 1.0, shift, 0.0)))
    return tuple(bands)


def stuck(box: Box, count: int, u: float, rng: np.random.Generator) -> Path:
    """Clusters of small blocks, as when a decoder loses its place."""
    blocks = []
    side = 9 * u
    for _ in range(count):
        x, y = rng.uniform((box.x, box.y), (box.right, box.bottom))
        for row, column in np.argwhere(rng.random((3, 9)) < 0.45).tolist():
            blocks.append(rect(float(x) + column * side, float(y) + row * side, side, side))
    return joined(*blocks)


def streaks(box: Box, count: int, u: float, rng: np.random.Generator) -> Path:
    """Long thin bars where a row of pixels was smeared."""
    return joined(
        *(
            rect(float(rng.uniform(box.x, box.right)), float(rng.uniform(box.y, box.bottom)),
                 box.width * float(rng.uniform(0.06, 0.3)), u * float(rng.choice((2, 3, 6))))
            for _ in range(count)
        )
    )  # fmt: skip


def scan_lines(box: Box, step: float) -> Path:
    """The dark half of every line of a tube."""
    return joined(*(rect(box.x, y, box.width, step * 0.42) for y in np.arange(box.y, box.bottom, step).tolist()))


def _low(palette: Palette) -> str:
    """The dim color behind things."""
    return mix(palette.ground, palette.secondary, 0.25)


BAYER = np.array([[0, 8, 2, 10], [12, 4, 14, 6], [3, 11, 1, 9], [15, 7, 13, 5]]) / 16
"""Thresholds of ordered dithering: a share s of color is on where s exceeds them."""

_T = np.linspace(0, 1, 9)[1:, None]

BEZIER = {
    4: np.hstack([(1 - _T) ** 2, 2 * _T * (1 - _T), _T**2]),
    6: np.hstack([(1 - _T) ** 3, 3 * _T * (1 - _T) ** 2, 3 * _T**2 * (1 - _T), _T**3]),
}
"""Weights of the control points of a curve given by 4 or 6 numbers at eight places along it."""

SHADED = (2, 3, 4)
"""Tones whose lower part is dithered darker."""


class PixelArt(Style):
    """The picture on a coarse grid, few colors, dithered skies, dark outlines, stepped frames."""

    name = "Pixel Art"
    moods = ("playful", "nostalgic", "joyful", "futuristic")
    displays = (("Press Start 2P", 400),)
    texts = (("JetBrains Mono", 500), ("Space Mono", 400))
    case = "upper"
    arrangements = ("hero-top", "framed", "stack", "hero-bottom", "full-bleed", "mark-above", "badge")
    scale = 0.72

    def cell(self, stage: Stage) -> int:
        """The side of one picture element: whole pixels, so that edges stay crisp."""
        return max(2, round(stage.unit * 9))

    def tune(self, palette: Palette, rng: np.random.Generator) -> Palette:
        """Console colors: a little more chroma everywhere, a ground that is clearly dark or clearly light."""
        lightness, chroma, hue = oklch(palette.ground)
        ground = from_oklch(min(lightness, 0.27) if lightness < 0.6 else max(lightness, 0.9), chroma, hue)
        surface = shade(ground, oklch(ground)[0] + (0.06 if is_dark(ground) else 0.04))
        return inked(
            replace(
                palette,
                ground=ground,
                surface=surface,
                primary=vivid(palette.primary, 0.5, 0.78, 0.16),
                secondary=vivid(palette.secondary, 0.45, 0.82, 0.12),
                accent=vivid(palette.accent, 0.6, 0.88, 0.17),
            )
        )

    def ground(self, stage: Stage) -> Marks:
        """One color, strewn with single pixels and small crosses away from the text."""
        step, palette = self.cell(stage), stage.palette
        if stage.format == "logo":
            return (Fill(canvas(stage), palette.ground),)
        places = spots(stage, whole(stage), 34, step * 4, gap=step * 2)
        corners = [(step * (x // step), step * (y // step)) for x, y in places]
        crosses = [
            joined(rect(x - step, y, 3 * step, step), rect(x, y - step, step, 3 * step)) for x, y in corners[::4]
        ]
        singles = [rect(x, y, step, step) for x, y in corners]
        quiet = mix(palette.ground, palette.secondary, 0.45)
        return (
            Fill(canvas(stage), palette.ground),
            *((Fill(joined(*singles), quiet),) if singles else ()),
            *((Fill(joined(*crosses), mix(palette.ground, palette.accent, 0.6)),) if crosses else ()),
        )

    def picture(self, stage: Stage, box: Box) -> Marks:
        """The motif in cells over a dithered sky, outlined and shaded like a sprite, in a stepped frame."""
        step, palette = self.cell(stage), stage.palette
        box = snapped(box, step)
        grid = pixels(scene(stage, box), box, step)
        if stage.format == "logo":
            return _sprite(grid, palette, box, step)
        top, low = mix(palette.ground, palette.secondary, 0.28), mix(palette.ground, palette.primary, 0.32)
        sky = _dithered(np.linspace(-0.1, 1.05, grid.shape[0]), grid.shape[1])
        return (
            Fill(rect(box.x, box.y, box.width, box.height), top),
            *_cells(sky, box, step, low),
            *mirror_behind_panel(stage, box, _sprite(grid, palette, box, step)),
            *_frame(box, step, palette.ink),
        )

    def finish(self, stage: Stage) -> Marks:
        """Nothing: every cell is already placed."""
        return ()

    def panel(self, stage: Stage, box: Box) -> Marks:
        """A dialogue window: surface with a stepped double border."""
        step = self.cell(stage)
        inner = Box(x=box.x + step, y=box.y + step, width=box.width - 2 * step, height=box.height - 2 * step)
        return (
            Fill(rect(box.x + step, box.y, box.width - 2 * step, box.height), stage.palette.surface),
            Fill(rect(box.x, box.y + step, box.width, box.height - 2 * step), stage.palette.surface),
            *_frame(box, step, stage.palette.on_surface),
            *_frame(inner, step / 2, stage.palette.primary),
        )

    def letter(self, stage: Stage, role: str, glyphs: tuple[Glyphs, ...]) -> StyledText:
        """A hard shadow one font pixel off under the headline; the rest plain."""
        if role != "headline" or not stands_out(stage, glyphs):
            return StyledText(glyphs)
        font_pixel = size_of(glyphs) / 8
        color = mix(stage.palette.ground, stage.palette.primary, 0.45)
        return StyledText((*copies(glyphs, color, font_pixel * 0.6, font_pixel * 0.6), *glyphs), ("shadow",))


def pixels(shapes: Iterable[MotifShape], box: Box, step: int) -> np.ndarray:
    """Rows x columns of the uppermost shape's tone at each cell's centre, -1 where there is none."""
    columns, rows = int(box.width // step), int(box.height // step)
    xs = box.x + step * (np.arange(columns) + 0.5)
    ys = box.y + step * (np.arange(rows) + 0.5)
    grid = np.full((rows, columns), -1, dtype=np.int8)
    for shape in shapes:
        inside = _near(shape, xs, ys, step) if shape.line else _covered(shape.path, xs, ys)
        grid[inside] = shape.tone
    return grid


def _covered(path: Path, xs: np.ndarray, ys: np.ndarray) -> np.ndarray:
    """Which points (ys x xs) the outline encloses: edges crossed on the way to them from the left, by direction."""
    x0, y0, x1, y1 = np.array(_edges(path, close=True) or [(0.0, 0.0, 0.0, 0.0)])[:, :, None].swapaxes(0, 1)
    down, up = (y0 <= ys) & (ys < y1), (y1 <= ys) & (ys < y0)
    edge, row = np.nonzero(down | up)
    share = (ys[row] - y0[edge, 0]) / (y1[edge, 0] - y0[edge, 0])
    crossing = x0[edge, 0] + share * (x1[edge, 0] - x0[edge, 0])
    winding = np.zeros((len(ys), len(xs) + 1), dtype=np.int32)
    np.add.at(winding, (row, np.searchsorted(xs, crossing)), np.where(down[edge, row], 1, -1))
    turns = winding.cumsum(axis=1)[:, :-1]
    return np.asarray(turns % 2 != 0 if path.even_odd else turns != 0)


def _near(shape: MotifShape, xs: np.ndarray, ys: np.ndarray, step: int) -> np.ndarray:
    """Which points lie on a drawn line: nearer than half its width, or half a cell where it is thin."""
    reach = max(shape.width / 2, step * 0.5)
    near = np.zeros((len(ys), len(xs)), dtype=bool)
    for x0, y0, x1, y1 in _edges(shape.path, close=False):
        columns = slice(*np.searchsorted(xs, (min(x0, x1) - reach, max(x0, x1) + reach)))
        rows = slice(*np.searchsorted(ys, (min(y0, y1) - reach, max(y0, y1) + reach)))
        px, py = xs[None, columns] - x0, ys[rows, None] - y0
        dx, dy = x1 - x0, y1 - y0
        along = np.clip((px * dx + py * dy) / max(dx * dx + dy * dy, 1e-9), 0, 1)
        near[rows, columns] |= (px - along * dx) ** 2 + (py - along * dy) ** 2 <= reach**2
    return near


def _edges(path: Path, *, close: bool) -> list[tuple[float, float, float, float]]:
    """The outline as straight edges; curves in eight, open parts closed where `close`."""
    edges: list[tuple[float, float, float, float]] = []
    here = start = (0.0, 0.0)
    for name, *values in (*path.commands, ("M", 0.0, 0.0)):
        if name in "MZ":
            if (name == "Z" or close) and here != start:
                edges.append((*here, *start))
            here = start = (values[0], values[1]) if name == "M" else start
            continue
        points = [tuple(values)]
        if len(values) > 2:
            points = [tuple(point) for point in (BEZIER[len(values)] @ np.reshape((*here, *values), (-1, 2))).tolist()]
        for x, y in points:
            edges.append((*here, x, y))
            here = (x, y)
    return edges


def runs(mask: np.ndarray, x: float, y: float, step: float) -> Path:
    """The cells that are on, as one outline of horizontal bars."""
    edges = np.diff(np.pad(mask.astype(np.int8), ((0, 0), (1, 1))), axis=1)
    rows, starts = np.nonzero(edges == 1)
    ends = np.nonzero(edges == -1)[1]
    commands: list[Command] = []
    for row, start, end in zip(rows.tolist(), starts.tolist(), ends.tolist()):
        left, right, top = x + start * step, x + end * step, y + row * step
        bottom = top + step
        commands += (("M", left, top), ("L", right, top), ("L", right, bottom), ("L", left, bottom), ("Z",))
    return Path(tuple(commands))


def _cells(mask: np.ndarray, box: Box, step: int, color: Color) -> Marks:
    """The cells that are on, in one color."""
    return (Fill(runs(mask, box.x, box.y, step), color),) if mask.any() else ()


def _dithered(share: np.ndarray, columns: int) -> np.ndarray:
    """Rows of cells, each on with its row's share, in Bayer's pattern."""
    rows = len(share)
    thresholds = np.tile(BAYER, (rows // 4 + 1, columns // 4 + 1))[:rows, :columns]
    return share[:, None] > thresholds


def snapped(box: Box, step: int) -> Box:
    """The box grown to whole cells of the canvas' grid."""
    x, y = step * int(box.x // step), step * int(box.y // step)
    return Box(x=x, y=y, width=step * -int(-(box.right - x) // step), height=step * -int(-(box.bottom - y) // step))


def _sprite(grid: np.ndarray, palette: Palette, box: Box, step: int) -> Marks:
    """The cells of a motif: a color for each tone, its lower part dithered darker, a dark rim around it all."""
    far = mix(palette.ground, palette.secondary, 0.55)
    light = mix(WHITE, palette.primary, 0.08)
    colors = (palette.ground, far, palette.secondary, palette.primary, palette.accent, light)
    rim = shade(palette.ground, 0.12) if is_dark(palette.ground) else shade(palette.primary, 0.24, 0.5)
    marks: Marks = ()
    for tone in range(1, 6):
        marks += _cells(grid == tone, box, step, colors[tone])
        if tone in SHADED and (grid == tone).any():
            here = grid == tone
            rows = np.nonzero(here.any(axis=1))[0]
            share = np.zeros(grid.shape[0])
            share[rows[0] : rows[-1] + 1] = np.linspace(-0.35, 0.75, rows[-1] - rows[0] + 1)
            lower_parts = np.asarray(here & _dithered(share, grid.shape[1]))
            marks += _cells(lower_parts, box, step, mix(colors[tone], rim, 0.35))
    solid = np.isin(grid, (3, 4, 5))
    padded = np.pad(solid, 1)
    beside = padded[:-2, 1:-1] | padded[2:, 1:-1] | padded[1:-1, :-2] | padded[1:-1, 2:]
    return (*marks, *_cells(beside & ~solid, box, step, rim))


def _frame(box: Box, step: float, color: Color) -> Marks:
    """A line of cells around a box, its corners left out as pixel artists do."""
    x, y, w, h = box.x, box.y, box.width, box.height
    sides = (
        rect(x + step, y, w - 2 * step, step),
        rect(x + step, y + h - step, w - 2 * step, step),
        rect(x, y + step, step, h - 2 * step),
        rect(x + w - step, y + step, step, h - 2 * step),
    )
    return (Fill(joined(*sides), color),)
