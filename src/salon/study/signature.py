"""One line that says which data, method, settings, seed and version made a number."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from pydantic import Field

from salon.study.noun import Noun

Setting = str | int | float | bool | None


def salon_version() -> str:
    """The installed version of Salon."""
    try:
        return version("salon")
    except PackageNotFoundError:  # pragma: no cover - running from an unpacked source tree
        return "unknown"


class Signature(Noun):
    """Printed with every number; the same signature means the same number."""

    method: str
    data: str | None = None
    """First twelve hex digits of the content hash of the study or file; all 64 of the SHA-256 of weights."""
    revision: int | None = None
    settings: dict[str, Setting] = Field(default_factory=dict)
    seed: int | None = None
    version: str = Field(default_factory=salon_version)

    def __str__(self) -> str:
        parts = [self.method]
        if self.data is not None:
            parts.append(f"data:{self.data}" + ("" if self.revision is None else f"@r{self.revision}"))
        parts += [f"{key}:{_plain(value)}" for key, value in sorted(self.settings.items())]
        if self.seed is not None:
            parts.append(f"seed:{self.seed}")
        return "|".join([*parts, f"salon:{self.version}"])


def _plain(value: Setting) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)
