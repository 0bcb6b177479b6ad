"""Flaws planted on purpose, each with a strength in [0, 1] and a record of what was changed.

Most are bent into the plan, before anything has a place (`bend`); two are done to the finished poster (`disturb`). A
strength of 0 changes nothing, and so does a flaw that the brief cannot show: wrong colors against a brief that names
none. Only what was really changed goes on record.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from salon.errors import BadValue
from salon.render.brief import STYLES, SUBJECTS, Align, Place
from salon.render.colors import contrast, from_oklch, mix, oklch, parse_color
from salon.render.compose import DrawingHabits, plan_poster
from salon.render.layout import (
    DEFECTS,
    TEXT_ROLES,
    Box,
    Defect,
    DefectKind,
    Element,
    Face,
    Lettering,
    TextLine,
    TextWord,
)
from salon.render.marks import Fill, Group
from salon.render.motifs import emblem
from salon.render.palettes import rechecked
from salon.render.plan import PosterPlan
from salon.render.poster import Poster
from salon.render.random_streams import chance
from salon.render.shapes import circle
from salon.render.styles import style_named
from salon.render.styles.ways import flat

Knobs = Mapping[DefectKind, float]
"""Strengths by kind; kinds that are absent are at 0."""


def check_knobs(knobs: Knobs) -> None:
    """BadValue for an unknown flaw or a strength outside [0, 1]."""
    for kind, strength in knobs.items():
        if kind not in DEFECTS:
            raise BadValue("the name of a defect is needed", found=repr(kind), remedy=f"one of {', '.join(DEFECTS)}")
        if not 0 <= strength <= 1:  # also refuses NaN
            raise BadValue("a defect's strength lies between 0 and 1", found=strength, where=kind)


def bend(plan: PosterPlan, habits: DrawingHabits, knobs: Knobs) -> tuple[PosterPlan, tuple[Defect, ...]]:
    """The plan with flaws, and their record. What is about texts, colors and type comes in here."""
    check_knobs(knobs)
    records: list[Defect] = []
    for kind, change in BENDS.items():
        if strength := knobs.get(kind, 0.0):
            plan, detail, elements = change(plan, habits, strength)
            if detail:
                records.append(Defect(kind=kind, strength=strength, detail=detail, elements=elements))
    return plan, tuple(records)


def disturb(poster: Poster, knobs: Knobs) -> Poster:
    """The poster with the flaws that need its places known: elements out of line, elements nobody asked for."""
    check_knobs(knobs)
    for kind, change in DISTURBANCES.items():
        if strength := knobs.get(kind, 0.0):
            poster, detail, elements = change(poster, strength)
            if detail:
                poster = poster.with_defect(Defect(kind=kind, strength=strength, detail=detail, elements=elements))
    return poster


# Flaws of a plan


Bent = tuple[PosterPlan, str, tuple[str, ...]]

FAINTEST = 1.22
"""Contrast that the full strength of low-contrast leaves."""
LEAST_NEEDED: tuple[str, ...] = ("brand", "body", "cta", "subhead", "where", "when")
"""Texts in the order in which missing-text leaves them out; the headline always stays."""
AWKWARD = (
    Face(family="Dancing Script", weight=700),
    Face(family="Orbitron", weight=500),
    Face(family="Permanent Marker", weight=400),
    Face(family="Press Start 2P", weight=400),
)
"""Faces that are wrong for reading text, the mildest first."""
_COLORS = ("ground", "surface", "primary", "secondary", "accent")
_GRAY = 0.04
"""Chroma below which a color has no hue to get wrong."""
_STEP, _LEAST_TURN = 5, 45
"""Degrees: how finely turns are looked at, and the smallest that counts as wrong."""
_FAR: dict[Place, tuple[Place, ...]] = {"top": ("bottom",), "bottom": ("top",), "middle": ("top", "bottom")}
_OTHER_SIDE: dict[Align, Align] = {"left": "right", "right": "left", "center": "left"}


# -- against the brief -----------------------------------------------------------------------------------------------


def off_mood_style(plan: PosterPlan, habits: DrawingHabits, strength: float) -> Bent:
    """Another style: the stronger, the fewer moods it shares with the brief's own."""
    brief = plan.brief
    moods: set[str] = {brief.mood, *style_named(plan.style).moods}

    def fit(name: str) -> tuple[int, int]:
        own = style_named(name).moods
        return own.index(brief.mood) if brief.mood in own else len(own) + 4, -len(moods & set(own))

    misfit = sorted((name for name in STYLES if name != plan.style), key=fit)
    chosen = misfit[min(len(misfit) - 1, int(strength * len(misfit)))]
    wrong = plan_poster(
        brief.model_copy(update={"style": chosen}), habits, plan.seed, width=plan.width, height=plan.height
    )
    bent = replace(wrong, brief=brief, headline_at=plan.headline_at, align=plan.align)
    return bent, f"{chosen} instead of {plan.style} for a {brief.mood} mood", ()


def wrong_color(plan: PosterPlan, habits: DrawingHabits, strength: float) -> Bent:
    """All colors turned around the wheel, away from those the brief names; grays become colored."""
    if not plan.brief.palette:
        return plan, "", ()
    side = 1 if chance(plan.seed, "wrong-color").random() < 0.5 else -1
    angle = strength * _wrong_turn(plan, side)
    turned = {}
    for name in _COLORS:
        lightness, chroma, hue = oklch(getattr(plan.palette, name))
        turned[name] = from_oklch(lightness, max(chroma, 0.09 * strength), (hue + side * angle) % 360)
    palette = rechecked(replace(plan.palette, **turned))
    return (
        replace(plan, palette=palette),
        f"hues turned by {angle:.0f} degrees from {', '.join(plan.brief.palette)}",
        (),
    )


def _wrong_turn(plan: PosterPlan, side: int) -> float:
    """The turn at which the colors first stop moving away from those the brief names.

    Half a turn for one color. But opposite colors turned half way round are the same two again, three that share the
    wheel after a third of it: there the worst is a quarter, or a sixth.
    """
    used = [oklch(getattr(plan.palette, name)) for name in _COLORS]
    hues = [hue for _, chroma, hue in map(oklch, map(parse_color, plan.brief.palette)) if chroma > _GRAY]
    if not hues:
        return 180.0

    def apart(angle: float) -> float:
        gaps = (
            min(abs((hue + side * angle - asked_hue + 180) % 360 - 180) for asked_hue in hues) for _, _, hue in used
        )
        return sum(chroma * gap for (_, chroma, _), gap in zip(used, gaps))

    far = [apart(angle) for angle in range(0, 181, _STEP)]
    while_away = (k for k in range(len(far) - 1) if k * _STEP >= _LEAST_TURN and far[k + 1] <= far[k])
    return float(next(while_away, len(far) - 1) * _STEP)


def wrong_position(plan: PosterPlan, habits: DrawingHabits, strength: float) -> Bent:
    """The headline in another third, the texts on another side than the brief asks for."""
    brief, rng = plan.brief, chance(plan.seed, "wrong-position")
    changes: list[str] = []
    if brief.headline_at:
        far = _FAR[brief.headline_at]
        place = far[int(rng.integers(len(far)))] if strength >= 0.5 or brief.headline_at == "middle" else "middle"
        plan = replace(plan, headline_at=place)
        changes.append(f"headline at the {place} instead of the {brief.headline_at}")
    if brief.align and (strength >= 0.25 or not changes):
        plan = replace(plan, align=_OTHER_SIDE[brief.align])
        changes.append(f"aligned {plan.align} instead of {brief.align}")
    return plan, ", ".join(changes), ("headline",) if changes else ()


def missing_text(plan: PosterPlan, habits: DrawingHabits, strength: float) -> Bent:
    """Texts left out, the least needed first."""
    there = [role for role in LEAST_NEEDED if plan.texts.get(role)]
    left_out = there[: -(-round(1000 * strength * len(there)) // 1000)]
    texts = {role: text for role, text in plan.texts.items() if role not in left_out}
    return replace(plan, texts=texts), f"left out: {', '.join(left_out)}" if left_out else "", tuple(left_out)


def misspelling(plan: PosterPlan, habits: DrawingHabits, strength: float) -> Bent:
    """A share of all words misspelled: `strength` of them, at least one."""
    texts, changed = misspell(plan.texts, strength, chance(plan.seed, "misspelling"))
    detail = ", ".join(f"{wrong!r} for {right!r}" for _, right, wrong in changed)
    roles = tuple(role for role in TEXT_ROLES if any(role == where for where, _, _ in changed))
    return replace(plan, texts=texts), detail, roles


# -- against the craft -----------------------------------------------------------------------------------------------


def clashing_colors(plan: PosterPlan, habits: DrawingHabits, strength: float) -> Bent:
    """Accent and secondary color out of harmony: turned, garish, and as light as the ground, so that they vibrate."""
    ground = oklch(plan.palette.ground)[0]
    accent = _garish(plan.palette.accent, 95 * strength, strength, ground)
    secondary = _garish(plan.palette.secondary, -70 * strength, strength, ground)
    surface = _garish(plan.palette.surface, 150 * strength, 0.6 * strength, oklch(plan.palette.surface)[0])
    palette = rechecked(replace(plan.palette, accent=accent, secondary=secondary, surface=surface))
    return replace(plan, palette=palette), f"accent {accent} for {plan.palette.accent}, and others out of harmony", ()


def _garish(color: str, angle: float, strength: float, ground: float) -> str:
    lightness, chroma, hue = oklch(color)
    level = ground + (0.14 if ground < 0.55 else -0.14)
    lightness += 0.7 * strength * (level - lightness)
    return from_oklch(lightness, chroma + strength * (0.29 - chroma), (hue + angle) % 360)


def low_contrast(plan: PosterPlan, habits: DrawingHabits, strength: float) -> Bent:
    """Every ink faded into what it stands on: contrast c becomes c^(1 - strength) 1.22^strength."""
    p = plan.palette
    palette = replace(
        p,
        ink=_faded(p.ink, p.ground, strength),
        ink_soft=_faded(p.ink_soft, p.ground, strength),
        on_surface=_faded(p.on_surface, p.surface, strength),
        on_accent=_faded(p.on_accent, p.accent, strength),
    )
    headline = _faded(getattr(p, plan.headline_ink), p.ground, strength)
    before, after = contrast(p.ink, p.ground), contrast(palette.ink, palette.ground)
    roles = tuple(role for role in TEXT_ROLES if plan.texts.get(role))
    return replace(plan, palette=palette, headline_ink=headline), f"contrast of ink {after:.1f} for {before:.1f}", roles


def _faded(ink: str, ground: str, strength: float) -> str:
    """The mixture of ink and ground with the wanted contrast, by halving."""
    target = contrast(ink, ground) ** (1 - strength) * FAINTEST**strength
    near, far = 0.0, 1.0
    for _ in range(20):
        middle = (near + far) / 2
        near, far = (middle, far) if contrast(mix(ink, ground, middle), ground) > target else (near, middle)
    return mix(ink, ground, near)


def wrong_font_pairing(plan: PosterPlan, habits: DrawingHabits, strength: float) -> Bent:
    """Reading text in a face that is wrong for it, and from half strength the headline in another one."""
    text = AWKWARD[min(len(AWKWARD) - 1, int(strength * len(AWKWARD)))]
    display = plan.display if strength < 0.5 else next(face for face in AWKWARD if face.family != text.family)
    detail = f"text in {text.family} for {plan.text.family}"
    if display is not plan.display:
        detail += f", headline in {display.family} for {plan.display.family}"
    roles = tuple(role for role in TEXT_ROLES if plan.texts.get(role) and (role != "headline" or strength >= 0.5))
    return replace(plan, text=text, display=display), detail, roles


def broken_hierarchy(plan: PosterPlan, habits: DrawingHabits, strength: float) -> Bent:
    """Sizes drawn together until everything speaks equally loud."""
    s = plan.scale
    scale = replace(
        s,
        headline=s.headline ** (1 - strength) * 1.6**strength,
        subhead=s.subhead + strength * (1.5 - s.subhead),
        body=s.body * (1 + 0.45 * strength),
        small=s.small * (1 + 0.7 * strength),
    )
    detail = f"headline at most {scale.headline / scale.body:.1f} times the text instead of {s.headline / s.body:.1f}"
    return replace(plan, scale=scale), detail, tuple(role for role in TEXT_ROLES if plan.texts.get(role))


def crowding(plan: PosterPlan, habits: DrawingHabits, strength: float) -> Bent:
    """Margins and gaps taken away, and the text made larger."""
    s = plan.scale
    scale = replace(s, subhead=s.subhead * (1 + 0.3 * strength), body=s.body * (1 + 0.35 * strength),
                    small=s.small * (1 + 0.35 * strength))  # fmt: skip
    margin, air = plan.margin * (1 - 0.8 * strength), plan.air * (1 - 0.85 * strength)
    detail = f"margin {margin:.3f} for {plan.margin:.3f} of the shorter side, gaps x {1 - 0.85 * strength:.2f}"
    return replace(plan, margin=margin, air=air, scale=scale), detail, ()


def bad_kerning(plan: PosterPlan, habits: DrawingHabits, strength: float) -> Bent:
    """The headline's letters pushed about at random."""
    kerning = 0.22 * strength
    return replace(plan, kerning=kerning), f"letters moved by {kerning:.3f} of their size (sd)", ("headline",)


BENDS: dict[DefectKind, Callable[[PosterPlan, DrawingHabits, float], Bent]] = {
    "off-mood-style": off_mood_style,
    "wrong-color": wrong_color,
    "clashing-colors": clashing_colors,
    "low-contrast": low_contrast,
    "wrong-font-pairing": wrong_font_pairing,
    "broken-hierarchy": broken_hierarchy,
    "crowding": crowding,
    "bad-kerning": bad_kerning,
    "missing-text": missing_text,
    "misspelling": misspelling,
    "wrong-position": wrong_position,
}


# Flaws of a finished poster


Disturbed = tuple[Poster, str, tuple[str, ...]]
EDGE = 4.0
"""Pixels that stay between a moved text and the edge of the canvas."""


def misalignment(poster: Poster, strength: float) -> Disturbed:
    """Every text but one pushed sideways, a little up or down, each by its own amount."""
    layout = poster.layout
    rng, short = chance(layout.seeds, "misalignment"), min(layout.width, layout.height)
    texts = [element for element in layout.elements if element.kind == "text"]
    moved, first = [], layout.seeds.of("misalignment")
    for number, element in enumerate(texts):
        side = 1 if (number + first) % 2 else -1
        dx = side * strength * short * rng.uniform(0.035, 0.08)
        dy = strength * short * rng.uniform(-0.008, 0.008)
        box = element.box
        right, bottom = max(0.0, layout.width - EDGE - box.right), max(0.0, layout.height - EDGE - box.bottom)
        dx = round(min(max(dx, min(0.0, EDGE - box.x)), right), 2)
        dy = round(min(max(dy, min(0.0, EDGE - box.y)), bottom), 2)
        button = [mark for mark in layout.elements if mark.id == f"{element.id}-mark"]
        for part in (*button, element):
            poster = _move_element(poster, part, dx, dy)
        moved.append(f"{element.id} by {dx:+.0f}, {dy:+.0f} px")
    return poster, ", ".join(moved), tuple(element.id for element in texts)


def _move_element(poster: Poster, element: Element, dx: float, dy: float) -> Poster:
    changed: dict[str, Box | Lettering] = {
        "box": _shifted(element.box, dx, dy),
        "frame": _shifted(element.frame, dx, dy),
    }
    if element.lettering:
        lines = tuple(
            TextLine(
                text=line.text,
                box=_shifted(line.box, dx, dy),
                baseline=round(line.baseline + dy, 2),
                words=tuple(TextWord(text=word.text, box=_shifted(word.box, dx, dy)) for word in line.words),
            )
            for line in element.lettering.lines
        )
        changed["lettering"] = element.lettering.model_copy(update={"lines": lines})
    marks = (Group(poster.layer(element.id).marks, transform=(1.0, 0.0, 0.0, 1.0, dx, dy)),)
    return poster.replace_element(element.model_copy(update=changed), marks)


def _shifted(box: Box, dx: float, dy: float) -> Box:
    return Box(x=round(box.x + dx, 2), y=round(box.y + dy, 2), width=box.width, height=box.height)


def extra_element(poster: Poster, strength: float) -> Disturbed:
    """One or two things that the brief does not name, on top of everything but the texts."""
    layout = poster.layout
    rng, short = chance(layout.seeds, "extra-element"), min(layout.width, layout.height)
    colors = layout.palette
    tones = [colors[name] for name in ("surface", "secondary", "primary", "accent", "primary", "ground")]
    subjects = [subject for subject in SUBJECTS if subject not in (layout.brief.subject, "abstract")]
    added = []
    for number in range(1, 2 + (strength > 0.6)):
        subject = subjects[int(rng.integers(len(subjects)))]
        side = short * (0.1 + 0.16 * strength)
        box = _free_place(poster, side, rng)
        disc = Fill(circle(box.x + side / 2, box.y + side / 2, 0.62 * side), colors["surface"])
        marks = (disc, *flat(emblem(subject, box, rng), tones))
        name = f"extra-{number}"
        record = {"id": name, "role": "extra", "kind": "picture", "box": box, "frame": box, "z": 0}
        poster = poster.add_element(Element(**record, recipe=f"{subject}, asked for by nobody"), marks)
        added.append((name, subject))
    return poster, "added: " + ", ".join(subject for _, subject in added), tuple(name for name, _ in added)


def _free_place(poster: Poster, side: float, rng: np.random.Generator) -> Box:
    """Of sixty places the one that covers least text; the first among equals."""
    layout = poster.layout
    texts = [e.box for e in layout.elements if e.kind == "text" or e.role == "extra"]
    reach = 0.13 * side
    best, least = Box(x=0, y=0, width=side, height=side), np.inf
    for _ in range(60):
        x = rng.uniform(reach, layout.width - side - reach)
        y = rng.uniform(reach, layout.height - side - reach)
        box = Box(x=round(x, 2), y=round(y, 2), width=round(side, 2), height=round(side, 2))
        covered = 0.0
        for text in texts:
            across = min(box.right + reach, text.right) - max(box.x - reach, text.x)
            down = min(box.bottom + reach, text.bottom) - max(box.y - reach, text.y)
            covered += max(0.0, across) * max(0.0, down)
        if covered < least:
            best, least = box, covered
    return best


DISTURBANCES: dict[DefectKind, Callable[[Poster, float], Disturbed]] = {
    "misalignment": misalignment,
    "extra-element": extra_element,
}


# Misspelling: the slips a generator makes when it draws letters instead of writing words


_WORD = re.compile(r"[^\W\d_]+")
LEAST_LETTERS = 3


def misspell(
    texts: Mapping[str, str], share: float, rng: np.random.Generator
) -> tuple[dict[str, str], tuple[tuple[str, str, str], ...]]:
    """The texts with `share` of their words misspelled, and (role, right word, wrong word) for each.

    At least one word, where one has three letters or more; shorter ones are left alone.
    """
    words = [(role, match) for role, text in texts.items() for match in _WORD.finditer(text)]
    long = [(role, match) for role, match in words if len(match.group()) >= LEAST_LETTERS]
    count = min(len(long), max(1, round(share * len(words)))) if share > 0 else 0
    chosen = sorted(rng.choice(len(long), size=count, replace=False)) if count else []
    slips = [(role, match, slip(match.group(), rng)) for role, match in (long[i] for i in chosen)]
    changed = dict(texts)
    for role, match, wrong in reversed(slips):  # from the end, so that earlier places stay right
        changed[role] = changed[role][: match.start()] + wrong + changed[role][match.end() :]
    return changed, tuple((role, match.group(), wrong) for role, match, wrong in slips)


def slip(word: str, rng: np.random.Generator) -> str:
    """`word` with one letter swapped, dropped, doubled or replaced; never the same word, and never its first letter."""
    ways = [swap_letters, drop_letter, double_letter, replace_letter]
    for at in rng.permutation(len(ways)):
        wrong = ways[int(at)](word, rng)
        if wrong.casefold() != word.casefold():
            return wrong
    return word + word[-1]


def swap_letters(word: str, rng: np.random.Generator) -> str:
    """Two neighbours exchanged."""
    at = int(rng.integers(1, max(2, len(word) - 1)))
    return word[:at] + word[at + 1 : at + 2] + word[at] + word[at + 2 :]


def drop_letter(word: str, rng: np.random.Generator) -> str:
    """One letter missing."""
    at = int(rng.integers(1, len(word)))
    return word[:at] + word[at + 1 :]


def double_letter(word: str, rng: np.random.Generator) -> str:
    """One letter twice."""
    at = int(rng.integers(1, len(word)))
    return word[:at] + word[at] + word[at:]


def replace_letter(word: str, rng: np.random.Generator) -> str:
    """A letter of the same word in a wrong place: no letter that the face might lack."""
    at = int(rng.integers(1, len(word)))
    letter = word[int(rng.integers(len(word)))]
    letter = letter.upper() if word[at].isupper() else letter.lower()
    return word[:at] + letter + word[at + 1 :]
