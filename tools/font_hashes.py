"""Write the table of font files that the renderer takes: python -m tools.font_hashes

Each line has a file's SHA-256, its package with the version that `constraints.txt` pins, and its name. Run it after a
pin has changed, in an environment with the pinned versions; it stops where another version is installed or a file is
not the one that the package was published with.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path

from packaging.version import Version

from salon.render.typeset.fonts import TABLE

ROOT = Path(__file__).parents[1]
PACKAGE = re.compile(r"(fontpkg-[\w-]+|justmytype-intl-cjk)==(\S+)")


def pins() -> dict[str, str]:
    """The version of every font package by its name, as `constraints.txt` has it."""
    matches = map(PACKAGE.fullmatch, (ROOT / "constraints.txt").read_text(encoding="utf-8").split("\n"))
    return {match[1]: match[2] for match in matches if match}


def lines() -> Iterator[str]:
    """The lines of the table."""
    for package, version in sorted(pins().items()):
        installed = distribution(package)
        if Version(installed.version) != Version(version):
            raise SystemExit(f"{package}=={version} is needed; found {installed.version}")
        for file in sorted(installed.files or ()):
            if file.suffix == ".ttf" and file.hash is not None:
                digest = hashlib.sha256(Path(str(file.locate())).read_bytes()).digest()
                if base64.urlsafe_b64encode(digest).decode().rstrip("=") != file.hash.value:
                    raise SystemExit(f"{file.locate()} is not the file that {package} {version} was published with")
                yield f"{digest.hex()}  {package}=={version}  {file.name}\n"


if __name__ == "__main__":
    TABLE.write_text("".join(lines()), encoding="utf-8")
    print(f"{TABLE.relative_to(ROOT)}: {len(TABLE.read_text(encoding='utf-8').splitlines())} files")
