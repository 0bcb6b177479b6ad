"""Colours, once: light and dark values of every CSS variable. The contrast test reads what `css` writes.

Cohorts, null and alert stay apart for colour-blind eyes (blue, ochre, grey, crimson differ in lightness or in
the blue-yellow direction), and none of them carries meaning without words, a shape or a dash beside it.
"""

from __future__ import annotations

LIGHT = {
    "paper": "#fbfaf6",
    "card": "#ffffff",
    "ink": "#1f1d1a",
    "soft": "#5e5a52",
    "rule": "#e2ddd2",
    "rule-strong": "#b9b2a4",
    "edge": "#8c8576",
    "accent": "#8a3b1e",
    "cohort-1": "#2a5ea3",
    "cohort-2": "#9c5305",
    "cohort-3": "#0b4d3e",
    "cohort-4": "#641f66",
    "null": "#68635a",
    "null-wash": "#efebe2",
    "alert": "#8c061a",
    "good": "#14735d",
    "heat-above": "#7fb2e0",
    "heat-below": "#eeab72",
}

DARK = {
    "paper": "#161512",
    "card": "#1e1c19",
    "ink": "#efeae0",
    "soft": "#aba498",
    "rule": "#35322c",
    "rule-strong": "#5c574d",
    "edge": "#7a7467",
    "accent": "#eb9d77",
    "cohort-1": "#84b3ee",
    "cohort-2": "#e6a250",
    "cohort-3": "#a1eac4",
    "cohort-4": "#a683cd",
    "null": "#a09a8e",
    "null-wash": "#2a2823",
    "alert": "#f95b5b",
    "good": "#66c4a7",
    "heat-above": "#2f659d",
    "heat-below": "#8d4f16",
}


def css() -> str:
    """Light by default and on paper; dark by the system's wish or by the reader's toggle."""
    return "\n".join(
        [
            _block(":root", "light", LIGHT),
            "@media screen and (prefers-color-scheme: dark) {",
            _block(':root:not([data-theme="light"])', "dark", DARK),
            "}",
            "@media screen {",
            _block(':root[data-theme="dark"]', "dark", DARK),
            "}",
        ]
    )


def _block(selector: str, scheme: str, colors: dict[str, str]) -> str:
    lines = "".join(f"  --{name}: {value};\n" for name, value in colors.items())
    return f"{selector} {{\n  color-scheme: {scheme};\n{lines}}}"
