"""Weights that come inside installed packages: where they are, which version, and that nobody changed them."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from salon.errors import MissingExtra
from salon.models.file_hashes import check_sha256


def packaged(package: str, inner: str, sha256: str) -> Path:
    """A file that comes inside an installed package, its content checked; MissingExtra where it is not installed."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtra("models")
    path = Path(next(iter(spec.submodule_search_locations))) / inner
    return check_sha256(path, sha256, what=f"{path.name} as {package} brings it")


def package_version(name: str) -> str:
    """The version of an installed package."""
    try:
        return version(name)
    except PackageNotFoundError:  # pragma: no cover - a package without metadata
        return "unknown"
