"""A brief as the prompt that any generator can be given, and a prompt read back as a brief.

`brief_prompt` writes the three parts of a prompt so that people can read them and `read_brief` gives the same brief
back, character for character:

    intent       the client's sentence
    description  A poster; picture: fish; headline at the top.
                 Headline: “Night Market”
                 Place: “Harbour Street 4”
    aesthetics   Flat Design; mood: joyful; colors: navy, coral; aligned left.
                 Anything else about the look.

A prompt that somebody wrote freely is read by rules: words in quotation marks are the texts in order of importance,
and names of styles, moods, colors, subjects, formats and places count where they stand. Without any quoted words the
headline is what the prompt is about: its first words without "a poster for" and the like.

An ask is a sentence in a prompt that names one flaw to be avoided, and that the built-in generators heed. Who looks at
a poster and finds a flaw can say so in the next prompt. Free words would need a reader of free words; so there is one
sentence for each flaw, known word for word. They name no color, mood, style, subject, format or place, so that a brief
with asks in it is read as the same brief.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from salon.errors import BadValue
from salon.render.brief import CATEGORIES, FORMATS, MOODS, STYLES, SUBJECTS, Brief, Category, Format
from salon.render.colors import NAMES
from salon.render.layout import DefectKind
from salon.study import Prompt, normalize_text

# The everyday words by which a free prompt names formats, styles, moods, subjects and colors

FORMAT_WORDS: dict[str, Format] = {
    "poster": "poster", "placard": "poster", "flyer": "flyer", "flier": "flyer", "leaflet": "flyer", "handout": "flyer",
    "card": "card", "invitation": "card", "postcard": "card", "business card": "card", "voucher": "card",
    "square": "square", "instagram post": "square", "social media post": "square", "social post": "square",
    "story": "square", "post": "square", "slide": "slide", "presentation": "slide", "deck": "slide", "banner": "slide",
    "logo": "logo", "logotype": "logo", "emblem": "logo", "brand mark": "logo",
}  # fmt: skip
CATEGORY_FORMATS: dict[Category, Format] = {
    "posters": "poster",
    "flyers": "flyer",
    "cards & invitations": "card",
    "instagram posts": "square",
    "presentations": "slide",
    "logo": "logo",
    "social media": "square",
    "print products": "flyer",
    "art & design": "poster",
}
"""What a category is usually made as; of two with one format the first is what the format alone suggests."""
STYLE_WORDS: dict[str, str] = {
    **{style.lower(): style for style in STYLES},
    "minimal": "Minimalist", "flat": "Flat Design", "glitch": "Glitch Art", "pixel": "Pixel Art", "8-bit": "Pixel Art",
    "pop-art": "Pop Art", "vintage": "Retro", "paper cut": "Papercut", "paper-cut": "Papercut", "neon": "Cyberpunk",
    "synthwave": "Vaporwave", "3d": "Cinema 4D", "gradient": "Diffuse Glow", "hand-drawn": "Illustrative",
    "illustrated": "Illustrative", "typographic": "Typographic Minimalism", "chinese": "New Chinese Aesthetic",
    "ukiyo-e": "Japanese", "rave": "Acid Graphics",
}  # fmt: skip
MOOD_WORDS: dict[str, str] = {
    **{mood: mood for mood in MOODS},
    "quiet": "calm", "peaceful": "calm", "happy": "joyful", "cheerful": "joyful", "festive": "joyful", "loud": "bold",
    "energetic": "bold", "luxurious": "elegant", "refined": "elegant", "fun": "playful", "childlike": "playful",
    "formal": "serious", "professional": "serious", "wistful": "nostalgic", "dark": "mysterious", "eerie": "mysterious",
    "cosy": "warm", "cozy": "warm", "friendly": "warm", "techno": "futuristic", "modern": "futuristic",
}  # fmt: skip
SUBJECT_WORDS: dict[str, str] = {
    **{subject: subject for subject in SUBJECTS},
    "mountains": "mountain", "hiking": "mountain", "ski": "mountain", "ocean": "sea", "beach": "sea", "wave": "sea",
    "surf": "sea", "harbour": "boat", "harbor": "boat", "sailing": "boat", "ship": "boat", "skyline": "city",
    "street": "city", "architecture": "city", "tree": "forest", "trees": "forest", "wood": "forest", "night": "moon",
    "space": "rocket", "planet": "globe", "travel": "globe", "world": "globe", "flowers": "flower", "garden": "flower",
    "plant": "leaf", "plants": "leaf", "tea": "leaf", "orange": "fruit", "lemon": "fruit", "apple": "fruit",
    "café": "coffee", "cafe": "coffee", "bakery": "bread", "seafood": "fish", "birds": "bird", "kitten": "cat",
    "bike": "bicycle", "cycling": "bicycle", "railway": "train", "tram": "train", "home": "house", "light": "lamp",
    "furniture": "chair", "interior": "chair", "books": "book", "reading": "book", "library": "book", "poetry": "book",
    "jazz": "music", "concert": "music", "band": "music", "piano": "music", "vinyl": "music", "photo": "camera",
    "photography": "camera", "cinema": "film", "movie": "film", "theatre": "mask", "theater": "mask",
    "carnival": "mask", "football": "ball", "sport": "ball", "basketball": "ball", "birthday": "gift", "sale": "gift",
    "christmas": "candle", "rain": "umbrella", "ai": "robot", "technology": "robot", "charity": "hands",
    "volunteer": "hands", "wedding": "heart", "love": "heart", "exhibition": "eye", "art": "eye", "vision": "eye",
    "science": "globe", "summer": "sun", "winter": "stars",
}  # fmt: skip


def first_named(text: str, words: Mapping[str, str]) -> str | None:
    """What the earliest of `words` in `text` stands for (the longest, where two begin together); None without any."""
    longest_first = "|".join(sorted(map(re.escape, words), key=len, reverse=True))
    match = re.search(rf"(?<!\w)(?:{longest_first})(?!\w)", text, re.IGNORECASE)
    return words[match.group(0).lower()] if match else None


def named_colors(text: str) -> tuple[str, ...]:
    """The colors that `text` names, in order, each once: names of `colors.NAMES` and #rrggbb."""
    names = "|".join(sorted(map(re.escape, NAMES), key=len, reverse=True))
    colors = re.findall(rf"(?<!\w)(?:{names})(?!\w)|#[0-9a-f]{{6}}(?![0-9a-f])", text, re.IGNORECASE)
    return tuple(dict.fromkeys(color.lower() for color in colors))


# The form of a written prompt

LABELS = {
    "headline": "Headline",
    "subhead": "Sub-head",
    "body": "Text",
    "cta": "Call to action",
    "when": "Date",
    "where": "Place",
    "brand": "Brand",
}
"""Texts of a brief, most important first, as the prompt names them."""
_ROLES = {label: role for role, label in LABELS.items()}
_FIRST_LINE = re.compile(
    rf"^A (?P<format>{'|'.join(FORMATS)}); picture: (?P<subject>{'|'.join(SUBJECTS)})"
    r"(?:; headline at the (?P<headline_at>top|middle|bottom))?\.$"
)
_LOOK = re.compile(
    rf"^(?:(?P<style>{'|'.join(STYLES)}); )?mood: (?P<mood>{'|'.join(MOODS)})"
    r"(?:; colors: (?P<palette>[^;]+?))?(?:; aligned (?P<align>left|center|right))?\.(?:\n(?P<aesthetics>.*))?$",
    re.DOTALL,
)
_TEXT = re.compile(rf"^({'|'.join(_ROLES)}): “((?:\\.|[^”\\])*)”\n?", re.DOTALL | re.MULTILINE)
_QUOTED = re.compile(
    r"[“\"«]([^”\"»]++)[”\"»]|(?<!\w)‘((?:[^’]++|’(?=\w))++)’(?!\w)|(?<!\w)'((?:[^']++|'(?=\w))++)'(?!\w)"
)
_ABOUT = re.compile(
    r"^\W*(?:please\s+)?(?:(?:design|make|create|draw|generate)\s+)?(?:an?|the)?\s*"
    rf"(?:[\w-]+\s+){{0,3}}?(?:{'|'.join(sorted(FORMAT_WORDS, key=len, reverse=True))})\s+"
    r"(?:for|of|about|announcing|advertising|inviting to|promoting|showing|with)\s+(?:an?|the)?\s*",
    re.IGNORECASE,
)
_HEADLINE_WORDS = 6
LONGEST = 10_000
"""Characters of the longest prompt that is read as a brief."""


# -- writing ---------------------------------------------------------------------------------------------------------


def brief_prompt(brief: Brief) -> Prompt:
    """The prompt that asks for `brief`."""
    place = f"; headline at the {brief.headline_at}" if brief.headline_at else ""
    lines = [f"A {brief.format}; picture: {brief.subject}{place}."]
    for role, label in LABELS.items():
        if (text := getattr(brief, role)) is not None:
            escaped = text.replace("\\", "\\\\").replace("”", "\\”")
            lines.append(f"{label}: “{escaped}”")
    parts: list[str] = [brief.style] if brief.style else []
    parts.append(f"mood: {brief.mood}")
    if brief.palette:
        parts.append(f"colors: {', '.join(brief.palette)}")
    if brief.align:
        parts.append(f"aligned {brief.align}")
    look = "; ".join(parts) + "."
    return Prompt(
        id=brief.id,
        intent=brief.intent or None,
        description="\n".join(lines),
        aesthetics=f"{look}\n{brief.aesthetics}" if brief.aesthetics else look,
        category=brief.category,
    )


# -- reading ---------------------------------------------------------------------------------------------------------


def read_brief(prompt: Prompt) -> Brief:
    """The brief that `prompt` asks for: exactly where `brief_prompt` wrote it, by rules where a person did."""
    if (length := len(prompt.view())) > LONGEST:
        raise BadValue(
            f"a prompt of at most {LONGEST:,} characters is needed to draw from",
            found=f"{length:,}",
            where=f"prompt {prompt.id!r}",
            remedy="say in a few sentences what it is for, and quote the words to be set",
        )
    return Brief.parse(_written_brief(prompt) or _free_brief(prompt), where=f"prompt {prompt.id!r}")


def _written_brief(prompt: Prompt) -> dict[str, object] | None:
    line, _, texts = (prompt.description or "").partition("\n")
    first, look = _FIRST_LINE.match(line), _LOOK.match(prompt.aesthetics or "")
    if first is None or look is None or prompt.text is not None or prompt.category not in CATEGORIES:
        return None
    fields = {name: value for name, value in {**first.groupdict(), **look.groupdict()}.items() if value is not None}
    if "palette" in fields:
        fields["palette"] = tuple(fields["palette"].split(", "))
    for label, text in _TEXT.findall(texts):
        fields[_ROLES[label]] = re.sub(r"\\(.)", r"\1", text, flags=re.DOTALL)
    return {**fields, "id": prompt.id, "category": prompt.category, "intent": prompt.intent or ""}


def _free_brief(prompt: Prompt) -> dict[str, object]:
    text = prompt.view()
    if not text.strip():
        raise BadValue(
            "a prompt with words in it is needed to draw from",
            found="an empty one",
            where=f"prompt {prompt.id!r}",
            remedy='say what it is for, and put the words to be set in quotation marks: A poster for a fair, "Come in"',
        )
    quoted = [" ".join(next(filter(None, groups)).split()) for groups in _QUOTED.findall(text)]
    words = _QUOTED.sub(" ", text)
    category = _category(prompt)
    fields: dict[str, object] = dict(zip(LABELS, [part for part in quoted if part])) or {"headline": _topic(words)}
    side = r"(left|right|cent(?:er|re))"
    match = re.search(rf"\b{side}[- ]?(?:aligned|justified)|\baligned (?:to the )?{side}", words, re.IGNORECASE)
    if match is None:
        align: str | None = None
    else:
        word = (match.group(1) or match.group(2)).lower()
        align = "center" if word.startswith("cent") else word
    return {
        **fields,
        "id": prompt.id,
        "category": category,
        "format": first_named(words, FORMAT_WORDS) or CATEGORY_FORMATS[category],
        "intent": prompt.intent or (prompt.text or ""),
        "subject": first_named(words, SUBJECT_WORDS) or "abstract",
        "style": first_named(words, STYLE_WORDS),
        "mood": first_named(words, MOOD_WORDS) or "bold",
        "palette": named_colors(words)[:5],
        "headline_at": _place(words),
        "align": align,
    }


def _category(prompt: Prompt) -> Category:
    """The prompt's own where it is one of ours, else the one that its format suggests."""
    for category in CATEGORIES:
        if category == (prompt.category or "").lower():
            return category
    format = first_named(prompt.view(), FORMAT_WORDS)
    return next((name for name, usual in CATEGORY_FORMATS.items() if usual == format), "posters")


def _topic(words: str) -> str:
    """A headline where none was quoted: what the prompt is about, in a few words."""
    lines = (" ".join(line.split()) for line in words.split("\n"))
    about = _ABOUT.sub("", "\n".join(filter(None, lines)), count=1)
    sentence = re.split(r"[.;:!?\n,]|\s(?:in|with|using|on)\s", about.strip(), maxsplit=1)[0]
    chosen = (sentence or words).split()[:_HEADLINE_WORDS]
    title = " ".join(chosen).strip()
    return title[:1].upper() + title[1:] if title else "Untitled"


def _place(words: str) -> str | None:
    match = re.search(
        r"(?:headline|title|heading)\b[^.;,]{0,30}?\b(top|middle|cent(?:er|re)|bottom)\b", words, re.IGNORECASE
    )
    if match is None:
        return None
    return {"top": "top", "bottom": "bottom"}.get(match.group(1).lower(), "middle")


# Asks


ASKS: dict[DefectKind, str] = {
    "low-contrast": "Strong contrast between letters and ground.",
    "clashing-colors": "Colors that go well together.",
    "broken-hierarchy": "The headline far larger than all other words.",
    "misalignment": "All blocks of text share one edge.",
    "crowding": "Wide margins, and air around every block.",
    "bad-kerning": "Even gaps between the letters.",
    "wrong-font-pairing": "Two typefaces that suit each other.",
    "misspelling": "Every word spelled exactly as it was given.",
    "missing-text": "Every text that was given is there.",
    "wrong-color": "Only the colors that were named.",
    "wrong-position": "Everything stands where it was asked for.",
    "off-mood-style": "A look that suits the mood.",
    "extra-element": "Nothing is added that was not asked for.",
}
"""Flaw to the sentence that asks to avoid it."""


def asked_against(prompt: Prompt) -> frozenset[DefectKind]:
    """The flaws that a prompt asks to avoid, in these words; case, spaces and the last stop do not matter."""
    text = normalize_text(prompt.view())
    return frozenset(kind for kind, ask in ASKS.items() if normalize_text(ask).rstrip(".") in text)


def with_asks(prompt: Prompt, kinds: Iterable[DefectKind]) -> Prompt:
    """`prompt` with the asks of these flaws at its end, in the order of `ASKS`, each once.

    They go to the aesthetics of a prompt that has parts, else to its text.
    """
    new = set(kinds) - asked_against(prompt)
    added = " ".join(ask for kind, ask in ASKS.items() if kind in new)
    if not added:
        return prompt
    part = "aesthetics" if prompt.text is None else "text"
    before = (getattr(prompt, part) or "").rstrip()
    stop = "" if not before or before.endswith((".", "!", "?")) else "."
    gap = " " if asked_against(prompt) else "\n"
    return prompt.model_copy(update={part: f"{before}{stop}{gap}{added}" if before else added})
