"""Colors, edges and strokes, on pictures whose counts are known by hand."""

import pickle

import numpy as np
from PIL import Image, ImageDraw

from salon.models import Encoder, open_encoder
from salon.models.embedded_encoder import colors, edges, strokes


def halves(first: str, second: str, *, lying: bool = False) -> Image.Image:
    image = Image.new("RGB", (256, 256), first)
    ImageDraw.Draw(image).rectangle((0, 128, 256, 256) if lying else (128, 0, 256, 256), fill=second)
    return image


def test_colors_are_roots_of_their_shares():
    found = colors(halves("black", "white"))
    assert found[[0, 511]].tolist() == [np.float32(np.sqrt(0.5))] * 2  # (0,0,0) and (7,7,7), half of the picture each
    assert np.count_nonzero(found) == 2


def test_edges_know_place_and_direction():
    upright, lying = (edges(halves("black", "white", lying=way)).reshape(8, 8, 8) for way in (False, True))
    assert set(np.argwhere(upright)[:, 2]) == {0}  # gray changes across
    assert set(np.argwhere(upright)[:, 1]) <= {3, 4}  # in the middle
    assert set(np.argwhere(lying)[:, 2]) == {4}  # gray changes downwards: a quarter turn is four eighths of a half
    np.testing.assert_allclose(np.linalg.norm(upright), 1, rtol=1e-6)


def test_strokes_count_points_by_strength():
    flat = strokes(Image.new("RGB", (64, 64), "gray")).reshape(3, 5, 8)
    assert np.count_nonzero(flat[:, 1:]) == 0  # nothing but points without an edge
    np.testing.assert_allclose(np.square(flat).sum(), 1, rtol=1e-6)
    assert strokes(halves("black", "white")).reshape(3, 5, 8)[:, 4, 0].all()


def test_it_is_an_encoder_of_free_parts_that_travels():
    encoder = open_encoder("effnet-lite2+look")
    assert isinstance(encoder, Encoder)
    assert not any(part.aligned for part in encoder.parts)
    images = [halves("red", "blue"), Image.new("RGB", (40, 60))]
    for part in encoder.parts:
        rows = encoder.pictures(images, part.name)
        assert rows.shape == (2, part.width)
        assert rows.dtype == np.float32
    assert pickle.loads(pickle.dumps(encoder)).signature == encoder.signature
    assert encoder.parts[0] == open_encoder().parts[0]  # vectors of the network are shared with the default encoder
