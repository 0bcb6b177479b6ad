"""The everyday words by which a free prompt names formats, styles, moods, subjects and colors."""

from __future__ import annotations

import re
from collections.abc import Mapping

from salon.render.brief import MOODS, STYLES, SUBJECTS, Category, Format
from salon.render.colors import NAMES

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
    found = re.findall(rf"(?<!\w)(?:{names})(?!\w)|#[0-9a-f]{{6}}(?![0-9a-f])", text, re.IGNORECASE)
    return tuple(dict.fromkeys(color.lower() for color in found))
