"""Measurements of a picture by rule, without a network's opinion: each says what it looks at and where it is blind.

One rule says when there is a number: a measurement has a value where what it looks at is in the picture; else the
picture is unscored, with the reason. `words` and `contrast` look at the text that was asked for: where it is missing
they have their worst value. So a picture of one plain color, or one that is wholly transparent, has no balance and no
fine structure, lacks the text, and has a color. A picture of an extreme shape is unscored by all (`Seen.is_extreme`).
"""
