"""Weights that come inside installed packages: where they are, and which version."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from salon.errors import MissingExtra


def packaged(package: str, inner: str) -> Path:
    """A file that comes inside an installed package; MissingExtra where it is not installed."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtra("models")
    return Path(next(iter(spec.submodule_search_locations))) / inner


def package_version(name: str) -> str:
    """The version of an installed package."""
    try:
        return version(name)
    except PackageNotFoundError:  # pragma: no cover - a package without metadata
        return "unknown"
