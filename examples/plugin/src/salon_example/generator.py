"""A generator: stripes in colors that follow from the prompt and the seed."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator, Sequence

from PIL import Image

from salon.study import Abilities, Ask, FailedPicture, GeneratedPicture, Signature


class Stripes:
    """Draws without a network; the same ask gives the same bytes."""

    name = "stripes"
    abilities = Abilities(seeded=True, offline=True)
    signature = Signature(method="stripes", settings={"drawing": 1})

    def make(self, asks: Sequence[Ask]) -> Iterator[tuple[int, GeneratedPicture | FailedPicture]]:
        for index, ask in enumerate(asks):
            digest = hashlib.sha256(f"{ask.prompt.view()}|{ask.seed}".encode()).digest()
            image = Image.new("RGB", (1, 8))
            image.putdata([tuple(digest[3 * row : 3 * row + 3]) for row in range(8)])
            file = io.BytesIO()
            image.resize((ask.width or 128, ask.height or 176), Image.Resampling.NEAREST).save(file, "PNG")
            yield index, GeneratedPicture(image=file.getvalue())
