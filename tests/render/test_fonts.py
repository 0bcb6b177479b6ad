"""The catalogue against the fonts themselves, and which font sets which characters."""

from __future__ import annotations

import dataclasses
import hashlib
import importlib.util
import re
import tomllib
from importlib.metadata import distribution
from pathlib import Path

import fontpkg
import pytest
from face_measures import measures

from salon.errors import BadFile, BadValue, MissingExtra
from salon.render import FAMILIES, Face
from salon.render.typeset.characters import cleaned, font_spans
from salon.render.typeset.families import find_family
from salon.render.typeset.fonts import _load, load_font, parse_key, pinned_fonts, read_font
from salon.render.typeset.shape import shape_line

ROOT = Path(__file__).parents[2]
FROM_FONTPKG = [family for family in FAMILIES.values() if "cjk" not in family.scripts]
LETTERS = {
    "latin": "Aa",
    "greek": "Ωλ",
    "cyrillic": "Жя",
    "arabic": "شم",
    "hebrew": "שם",
    "devanagari": "न",
    "thai": "ก",
}


def regular(name: str) -> str:
    return f"{name}:{FAMILIES[name].nearest(400)}"


@pytest.mark.parametrize("family", FROM_FONTPKG, ids=lambda family: family.name)
def test_the_catalogue_says_what_the_files_hold(family):
    installed = fontpkg.family(family.package)
    assert family.variable == installed.is_variable
    lightest, heaviest = installed.weight_range
    assert (family.weights[0], family.weights[-1]) == (lightest, heaviest)
    if not family.variable:
        assert list(family.weights) == installed.weights
    drawn_italic = "italic" in installed.styles or any(axis.tag == "slnt" for axis in installed.axes)
    assert family.italic == drawn_italic
    characters = load_font(regular(family.name)).characters
    found = {script for script, letters in LETTERS.items() if all(ord(letter) in characters for letter in letters)}
    assert set(family.scripts) <= found


@pytest.mark.parametrize("name", FAMILIES)
def test_attributes_agree_with_measures(name):
    family, measured = FAMILIES[name], measures(regular(name))
    assert measured.monospaced == (family.kind in ("mono", "pixel"))
    assert measured.caps == family.caps
    assert (measured.width < 0.78) == (family.width == "condensed")
    if family.looks:
        heavier, lighter = (measures(f"Inter:{min(900, max(100, family.looks + step))}").stem for step in (100, -100))
        assert measured.stem > lighter
        assert measured.stem < heavier or family.looks >= 800


def test_weight_is_seen_in_the_stems():
    stems = [measures(f"Montserrat:{weight}").stem for weight in FAMILIES["Montserrat"].weights]
    assert stems == sorted(stems)
    assert stems[-1] > 4 * stems[0]


def test_cuts_are_chosen_by_file_or_axis():
    assert load_font("Poppins:700").file.name == "Poppins-Bold.ttf"
    assert load_font("Poppins:690:italic").file.name == "Poppins-BoldItalic.ttf"
    assert load_font("Inter:650").variations == {"opsz": 24.0, "wght": 650.0}
    assert load_font("Archivo Expanded:800").variations == {"wdth": 125.0, "wght": 800.0}
    assert load_font("Roboto Flex:400:italic").variations["slnt"] == -10.0
    assert not load_font("Roboto Flex:400:italic").synthetic_oblique
    assert load_font("Anton:900:italic").synthetic_oblique
    assert load_font("Caveat:900").variations["wght"] == 700.0
    assert load_font(Face(family="Inter", weight=650)) is load_font("Inter:650")


def test_a_key_names_its_face():
    for face in (Face(family="Lora"), Face(family="DM Sans", weight=250, italic=True)):
        assert parse_key(face.key) == face
    for key in ("Lora:bold", "Lora:400:slanted", "Lora:2000", ":"):
        with pytest.raises(BadValue):
            load_font(key)


def test_unknown_family_gives_near_names():
    with pytest.raises(BadValue, match="Playfair Display"):
        load_font("Playfare Display:700")
    with pytest.raises(BadValue, match=r"typesetting\.md"):
        find_family("¤¤¤¤¤¤¤¤")


def test_a_missing_package_names_its_extra(monkeypatch):
    def absent(name):
        raise fontpkg.FamilyNotInstalled(name)

    monkeypatch.setattr(fontpkg, "family", absent)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"salon\[generate\]"):
        _load.__wrapped__("Inter:400")
    with pytest.raises(MissingExtra, match=r"salon\[cjk\]"):
        _load.__wrapped__("Noto Sans JP:400")


def families(text: str, family: str, **cut) -> list[tuple[str, str]]:
    spans = font_spans(text, Face(family=family, **cut).key)
    return [(text[start:end], font.face.family) for start, end, font in spans]


def test_a_word_stays_in_one_font():
    assert ord("ł") not in load_font("Orbitron:400").characters
    assert families("To Małe now", "Orbitron") == [("To ", "Orbitron"), ("Małe ", "Inter"), ("now", "Orbitron")]
    assert families("Café東京", "Anton") == [("Café", "Anton"), ("東京", "Noto Sans TC")]
    assert families("Don’t stop", "Anton") == [("Don’t stop", "Anton")]


@pytest.mark.parametrize(
    ("text", "font"),
    [
        ("東京の夜", "Noto Sans JP"),
        ("서울의 봄", "Noto Sans KR"),
        ("汉语书店", "Noto Sans SC"),
        ("漢語書店", "Noto Sans TC"),
        ("שלום", "Heebo"),
        ("مرحبا", "Noto Sans Arabic"),
        ("नमस्ते", "Poppins"),
        ("สวัสดี", "Chakra Petch"),
        ("★♥☀✓", "Inter"),
    ],
)
def test_scripts_find_their_font(text, font):
    assert {family for _, family in families(text, "Bebas Neue")} == {font}


def test_a_fallback_is_as_heavy_as_the_face_looks_and_never_slanted_by_force():
    (_, _, font), *_ = font_spans("東京", Face(family="Bungee", italic=True).key)
    assert font.face == Face(family="Noto Sans TC", weight=900)
    (_, _, font), *_ = font_spans("Жук", Face(family="Zilla Slab", weight=300, italic=True).key)
    assert font.face == Face(family="Noto Serif", weight=300, italic=True)


def test_serif_text_gets_a_serif_arabic():
    assert families("مرحبا", "Playfair Display") == [("مرحبا", "Amiri")]


@pytest.mark.parametrize("text", ["Party 😀 time", "👩‍🚀", "🇯🇵", "\U000e0041", "\U00012000"])
def test_what_no_font_has_is_refused_by_name(text):
    with pytest.raises(BadValue, match="an installed font can draw") as caught:
        font_spans(text, Face(family="Inter").key)
    assert caught.value.remedy


def test_emoji_with_a_plain_symbol_are_set_as_it():
    assert families(cleaned("I ❤\ufe0f tea"), "Inter") == [("I ❤ tea", "Inter")]


def test_without_the_cjk_fonts_the_remedy_is_to_install_them(monkeypatch):
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if "cjk" in name else real(name))
    font_spans.cache_clear()
    with pytest.raises(BadValue, match=r"salon\[cjk\]"):
        font_spans("東京", Face(family="Inter").key)
    font_spans.cache_clear()


@pytest.mark.parametrize("character", ["\x00", "\x1b", "\x7f", "\x85", "\ud800", "\ue000", "\u202e", "\u2066"])
def test_control_private_and_lone_surrogate_characters_are_refused(character):
    with pytest.raises(BadValue, match=rf"U\+{ord(character):04X} at character 3 of 4"):
        cleaned(f"ab{character}c", where="headline")


def test_text_is_cleaned_of_its_carrier():
    assert cleaned("a\r\nb\rc\u2028d\te") == "a\nb\nc\nd e"
    assert cleaned("\ufeffCafe\u0301\u1680x") == "Café x"


def test_spaces_and_hyphens_of_all_kinds_stay_in_the_face():
    for character in "\u00a0\u2009\u202f\u3000\u2011\u00ad\u200d":
        line = shape_line(f"a{character}b", Face(family="Anton"), 40)
        assert [run.face for run in line.runs] == ["Anton:400"]
        assert 0 not in line.runs[0].ids


def test_the_page_lists_every_family():
    page = (ROOT / "docs" / "methods" / "typesetting.md").read_text(encoding="utf-8").split("## Families")[1]
    page = " ".join(page.split())
    listed = [name for names in re.findall(r"\*\*: ([^.]+)\.", page) for name in names.split(", ")]
    assert sorted(listed) == sorted(FAMILIES)


# -- fonts as published ------------------------------------------------------------------------------------------------


def test_every_pinned_font_is_the_published_file():
    pins = {f"{font.package}=={font.version}" for font in pinned_fonts().values()}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    wanted = [name for name in (*extras["generate"], *extras["cjk"]) if name.startswith(("fontpkg-", "justmytype-"))]
    assert pins == set(wanted)
    assert pins <= set((ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines())
    installed = {
        Path(str(file.locate())): package
        for package in {font.package for font in pinned_fonts().values()}
        for file in distribution(package).files or ()
        if file.suffix == ".ttf"
    }
    assert sorted(file.name for file in installed) == sorted(pinned_fonts())
    for file, package in installed.items():
        assert hashlib.sha256(read_font.__wrapped__(file, package)).hexdigest() == pinned_fonts()[file.name].sha256


@pytest.mark.parametrize("change", ["a byte in the middle", "another font", "a new name", "no file"])
def test_a_font_that_is_not_the_published_one_is_refused(change, monkeypatch, tmp_path):
    family = fontpkg.family("Lobster")
    data = bytearray(family.files[0].path.read_bytes())
    data[len(data) // 2] ^= 1
    file = tmp_path / ("Lobster-New.ttf" if change == "a new name" else family.files[0].path.name)
    if change != "no file":
        file.write_bytes(fontpkg.family("Anton").files[0].path.read_bytes() if change == "another font" else data)
    changed = dataclasses.replace(family, files=(dataclasses.replace(family.files[0], path=file),))
    monkeypatch.setattr(fontpkg, "family", lambda name: changed)
    with pytest.raises(BadFile, match=r"fontpkg-lobster==2\.100") as caught:
        _load.__wrapped__("Lobster:400")
    assert caught.value.where == str(file)
    assert "pip install --force-reinstall --no-deps fontpkg-lobster==2.100" in caught.value.remedy
    with pytest.raises(BadFile, match="a font package that Salon names"):
        read_font(file, "fontpkg-of-somebody")
