"""Charts as PDF and PNG: paints plain SVG elements (g, rect, line, circle, path of straight lines, text) with Skia."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from functools import cache
from xml.etree.ElementTree import Element

from PIL import Image

from salon.errors import BadValue
from salon.render.paint.skia_library import opaque, skia

_INCH = 25.4
_POINTS = 72
_INHERITED = ("font-family", "font-size", "font-weight", "text-anchor", "fill", "stroke")
_STEP = re.compile(r"([MLHVZhvz])([^MLHVZhvz]*)")
_CAPS = {"round": skia.Paint.kRound_Cap}
_JOINS = {"round": skia.Paint.kRound_Join}


def chart_png(svg: Element, dpi: int = 300) -> bytes:
    """The content of a PNG file; its resolution is written into it, so that programs place it at its true size."""
    width, height = (length / _INCH * dpi for length in _size(svg))
    surface = skia.Surface.MakeRaster(opaque(round(width), round(height)))
    _paint(surface.getCanvas(), svg, round(width))
    pixels = Image.fromarray(surface.makeImageSnapshot().toarray(colorType=skia.kRGBA_8888_ColorType)).convert("RGB")
    file = io.BytesIO()
    pixels.save(file, "PNG", dpi=(dpi, dpi))
    return file.getvalue()


def chart_pdf(svg: Element) -> bytes:
    """The content of a PDF file with one page of the chart's size; its text stays text."""
    width, height = (length / _INCH * _POINTS for length in _size(svg))
    stream = skia.DynamicMemoryWStream()
    document = skia.PDF.MakeDocument(stream)
    _paint(document.beginPage(width, height), svg, width)
    document.endPage()
    document.close()
    return bytes(stream.detachAsData())


def _size(svg: Element) -> tuple[float, float]:
    """Millimeters."""
    return float(svg.attrib["width"].removesuffix("mm")), float(svg.attrib["height"].removesuffix("mm"))


def _paint(canvas: skia.Canvas, svg: Element, width: float) -> None:
    canvas.clear(skia.ColorWHITE)
    left, top, across, _ = map(float, svg.attrib["viewBox"].split())
    canvas.scale(width / across, width / across)
    canvas.translate(-left, -top)
    inherited = {name: svg.attrib[name] for name in _INHERITED if name in svg.attrib}
    for child in svg:
        _draw(canvas, child, inherited)


def _draw(canvas: skia.Canvas, element: Element, inherited: Mapping[str, str]) -> None:
    if element.tag in ("title", "desc"):
        return
    attributes = {**inherited, **element.attrib}
    canvas.save()
    for name, arguments in re.findall(r"(\w+)\(([^)]*)\)", element.get("transform", "")):
        values = [float(value) for value in arguments.replace(",", " ").split()]
        {"translate": canvas.translate, "rotate": canvas.rotate}[name](*values)
    if element.tag == "g":
        for child in element:
            _draw(canvas, child, {name: attributes[name] for name in _INHERITED if name in attributes})
    elif element.tag == "text":
        _write(canvas, element.text or "", attributes)
    else:
        number = {name: float(element.attrib.get(name, 0)) for name in ("x", "y", "width", "height", "cx", "cy", "r")}
        path = skia.PathBuilder()
        if element.tag == "rect":
            path.addRect(skia.Rect.MakeXYWH(number["x"], number["y"], number["width"], number["height"]))
        elif element.tag == "circle":
            path.addCircle(number["cx"], number["cy"], number["r"])
        elif element.tag == "line":
            path.moveTo(float(element.attrib["x1"]), float(element.attrib["y1"])).lineTo(
                float(element.attrib["x2"]), float(element.attrib["y2"])
            )
        else:
            _trace(path, element.attrib["d"])
        shape = path.detach()
        for paint in _paints(attributes):
            canvas.drawPath(shape, paint)
    canvas.restore()


def _paints(attributes: Mapping[str, str]) -> list[skia.Paint]:
    """Fill, then stroke, as far as there are any."""
    paints = []
    if attributes.get("fill", "#000000") != "none":
        paints.append(
            skia.Paint(AntiAlias=True, Color=_color(attributes.get("fill", "#000000"), attributes.get("fill-opacity")))
        )
    if attributes.get("stroke", "none") != "none":
        stroke = skia.Paint(AntiAlias=True, Color=_color(attributes["stroke"], attributes.get("stroke-opacity")))
        stroke.setStyle(skia.Paint.kStroke_Style)
        stroke.setStrokeWidth(float(attributes.get("stroke-width", 1)))
        stroke.setStrokeCap(_CAPS.get(attributes.get("stroke-linecap", ""), skia.Paint.kButt_Cap))
        stroke.setStrokeJoin(_JOINS.get(attributes.get("stroke-linejoin", ""), skia.Paint.kMiter_Join))
        dashes = attributes.get("stroke-dasharray", "none")
        if dashes != "none":
            stroke.setPathEffect(skia.DashPathEffect.Make([float(part) for part in dashes.split()], 0))
        paints.append(stroke)
    return paints


def _color(words: str, opacity: str | None) -> int:
    if not re.fullmatch("#[0-9a-f]{6}", words):
        raise BadValue("a color of six hexadecimal digits is needed", found=words)
    red, green, blue = bytes.fromhex(words[1:])
    return int(skia.Color(red, green, blue, round(255 * float(opacity if opacity is not None else 1))))


def _trace(path: skia.PathBuilder, steps: str) -> None:
    """Straight lines: M, L, H, V, h, v and Z of a path."""
    x = y = 0.0
    start = (x, y)
    for step, arguments in _STEP.findall(steps):
        values = [float(value) for value in arguments.replace(",", " ").split()]
        if step in "Zz":
            path.close()
            x, y = start
            continue
        if step in "ML":
            x, y = values
        elif step in "Hh":
            x = values[0] + (x if step == "h" else 0)
        else:
            y = values[0] + (y if step == "v" else 0)
        if step == "M":
            start = (x, y)
            path.moveTo(x, y)
        else:
            path.lineTo(x, y)


def _write(canvas: skia.Canvas, words: str, attributes: Mapping[str, str]) -> None:
    """Text on one line; letters that the first font lacks come from another one of the system."""
    families = tuple(name.strip(" '\"") for name in attributes.get("font-family", "").split(","))
    size, bold = float(attributes.get("font-size", 12)), int(attributes.get("font-weight", 400)) >= 600
    runs: list[tuple[skia.Font, str]] = []
    for letter in words:
        face = _face(families, bold, letter)
        if runs and runs[-1][0].getTypeface().uniqueID() == face.uniqueID():
            runs[-1] = (runs[-1][0], runs[-1][1] + letter)
        else:
            runs.append((skia.Font(face, size), letter))
    for font, _ in runs:
        font.setSubpixel(True)
        font.setHinting(skia.FontHinting.kNone)
    widths = [font.measureText(part) for font, part in runs]
    share = {"middle": 0.5, "end": 1.0}.get(attributes.get("text-anchor", ""), 0.0)
    x, y = float(attributes["x"]) - share * sum(widths), float(attributes["y"])
    for (font, part), width in zip(runs, widths):
        for paint in _paints(attributes):
            canvas.drawString(part, x, y, font, paint)
        x += width


@cache
def _face(families: tuple[str, ...], bold: bool, letter: str) -> skia.Typeface:
    """The first installed family that has the letter, else any font that has it, else one that shows a box."""
    manager = skia.FontMgr.RefDefault()
    style = skia.FontStyle.Bold() if bold else skia.FontStyle.Normal()
    faces = [face for face in (manager.matchFamilyStyle(family, style) for family in families) if face is not None]
    for face in faces:
        if face.unicharToGlyph(ord(letter)):
            return face
    fallback = manager.matchFamilyStyleCharacter("", style, [], ord(letter))
    return fallback or (faces[0] if faces else manager.legacyMakeTypeface("", style))
