"""Pictures for the browser, each size made once, under addresses that tell nothing: `/i/<64 digits>-screen.webp`.

For the owner and an adjudicator the digits are the hash of the picture's content. For a rater they are a keyed hash of
rater, task and item: two screens or two raters that show the same picture have different addresses, so nobody can
match pictures across screens or with files they have. Nothing a browser sends becomes a path. Every size is written
anew from pixels, so names of generators in a file's metadata stay behind. A rater gets the pictures of their own tasks
and of the reference panel; the owner and an adjudicator get all. Everyone else, and every picture that cannot be
decoded, gets one and the same "nothing here".

Pictures in an object store go through the studio like files: a signed address of the store would hold the object's
name, and with it a generator's. A question is shown only once its pictures are here; while the store does not answer,
the page says so and can be loaded again.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import os
import re
import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Literal

from fastapi import APIRouter, FastAPI, Request
from PIL import Image
from starlette.responses import FileResponse

from salon.collect import Studio
from salon.errors import BadFile
from salon.store import Database, is_inside, picture_store, read_bytes, read_picture, sweep_folder, whole_file
from salon.web.auth import Anyone, Session
from salon.web.errors import NoSuchPage

Variant = Literal["thumbnail", "screen", "full"]
LONGEST: dict[str, int] = {"thumbnail": 480, "screen": 1600}
"""Pixels of the longer side; full has all of them."""
FORMAT = {"thumbnail": "webp", "screen": "webp", "full": "png"}
QUALITY = {"thumbnail": 82, "screen": 92}
FOLDER = ".variants"
_NAME = re.compile(r"([0-9a-f]{64})-(thumbnail|screen|full)\.(webp|png)")
_MOST_RATERS = 2000
_AT_ONCE = 2  # a picture of the largest size allowed takes 200 MB to decode

log = logging.getLogger("salon.web")


class Images:
    """The pictures of one study: their addresses, their sizes, and who may see them."""

    def __init__(
        self,
        folder: Path,
        items: Mapping[str, str | None],
        database: Database,
        references: Iterable[str] = (),
        *,
        secret: bytes,
    ) -> None:
        """`secret` is the studio's own: with it the addresses of a screen are the same after a restart."""
        self.folder, self.database, self._secret = folder.resolve(), database, secret
        self._store = picture_store(self.folder)
        self._paths = {item: path for item, name in items.items() if (path := self._inside(name)) is not None}
        self._reference_names = list(references)
        self._references = [path for name in self._reference_names if (path := self._inside(name)) is not None]
        self._hashes: dict[Path, tuple[tuple[int, int], str]] = {}
        self._sources: dict[str, Path] = {}
        self._seen: OrderedDict[str, dict[str, str]] = OrderedDict()
        self._turn = threading.Lock()
        self._making = threading.Semaphore(_AT_ONCE)

    # -- addresses ------------------------------------------------------------------------------------------

    def address(self, item: str, variant: Variant = "screen") -> str | None:
        """Where the owner or an adjudicator finds the picture of `item`; None when there is none."""
        path = self._paths.get(item)
        number = None if path is None else self._hash(path)
        return None if number is None else _address(number, variant)

    def rater_address(self, item: str, variant: Variant = "screen", *, rater: str, task: int) -> str | None:
        """Where `rater` finds the picture of `item` on the screen of `task`, and nobody else; None without one."""
        path = self._paths.get(item)
        return None if path is None else self._granted(path, variant, rater, f"task {task} {item}")

    def reference_address(self, name: str, variant: Variant = "screen", *, rater: str) -> str | None:
        """Where `rater` finds a picture of the reference panel."""
        path = self._inside(name)
        is_reference = path is not None and path in self._references
        return self._granted(path, variant, rater, f"reference {name}") if is_reference and path is not None else None

    def _granted(self, path: Path, variant: Variant, rater: str, place: str) -> str | None:
        number = self._hash(path)
        if number is None or not self._is_readable(path, number):
            return None
        key = self._key(rater, place)
        self._grants(rater)[key] = number
        return _address(key, variant)

    def _is_readable(self, path: Path, number: str) -> bool:
        """Whether a rater can see a stored picture: no question is shown whose pictures are out of reach.

        PicturesUnavailable while the store does not answer.
        """
        if not self._is_stored(path) or (self.folder / FOLDER / f"{number}-screen.webp").exists():
            return True
        with suppress(BadFile):
            self.variant(number, path, "screen")
            return True
        return False

    def _is_stored(self, path: Path) -> bool:
        return self._store is not None and not path.exists()

    def _key(self, rater: str, place: str) -> str:
        return hmac.new(self._secret, f"picture\0{rater}\0{place}".encode(), hashlib.sha256).hexdigest()

    def _inside(self, name: str | None) -> Path | None:
        """The file that the study names, if it lies in the study's folder; links that lead out of it do not count."""
        if not name or "\x00" in name:
            return None
        path = self.folder / name
        return path.resolve() if is_inside(path, self.folder) else None

    def _hash(self, path: Path) -> str | None:
        """SHA-256 of a file, read again only when it changed; None when it cannot be read.

        Of a stored picture a keyed hash of its name: nothing is transferred to tell an address.
        """
        if self._store is not None and not path.exists():
            with suppress(BadFile):
                key = self._store.key(path.relative_to(self.folder).as_posix())
                number = hmac.new(self._secret, f"stored\0{key}".encode(), hashlib.sha256).hexdigest()
                self._sources[number] = path
                return number
            return None
        try:
            status = path.stat()
            mark = (status.st_mtime_ns, status.st_size)
            entry = self._hashes.get(path)
            if entry is None or entry[0] != mark:
                entry = (mark, hashlib.sha256(read_bytes(path)).hexdigest())
                self._hashes[path] = entry
        except (OSError, BadFile):
            return None
        self._sources[entry[1]] = path
        return entry[1]

    def file(self, item: str, variant: Variant) -> Path | None:
        """The file of one size of the picture of `item`; None where there is none. Who may see it, the caller says."""
        path = self._paths.get(item)
        number = None if path is None else self._hash(path)
        return None if path is None or number is None else self.variant(number, path, variant)

    # -- who may see ----------------------------------------------------------------------------------------

    def source(self, key: str, session: Session) -> tuple[str, Path]:
        """Content hash and file behind an address for this session; NoSuchPage when there is none for them."""
        for _ in range(2):
            number = self._grants(session.rater).get(key) if session.role == "rater" else key
            if number is not None and number in self._sources:
                return number, self._sources[number]
            self._look_again(session)
        raise _no_picture()

    def _look_again(self, session: Session) -> None:
        """After a restart, or on another device: what the tasks of a rater show, or everything there is."""
        if session.role != "rater":
            for path in (*self._paths.values(), *self._references):
                self._hash(path)
            return
        for name in self._reference_names:
            self.reference_address(name, rater=session.rater)
        for task in self.database.tasks_of(session.rater):
            for item in task.question.get("items", ()):
                self.rater_address(item, rater=session.rater, task=task.id)

    def _grants(self, rater: str) -> dict[str, str]:
        """Content hash by address, for the pictures that a rater may see."""
        with self._turn:
            grants = self._seen.setdefault(rater, {})
            self._seen.move_to_end(rater)
            if len(self._seen) > _MOST_RATERS:
                self._seen.popitem(last=False)
        return grants

    # -- sizes ----------------------------------------------------------------------------------------------

    def variant(self, number: str, source: Path, variant: str) -> Path:
        """The file of one size, made when it is asked for first."""
        place = self.folder / FOLDER / f"{number}-{variant}.{FORMAT[variant]}"
        if place.exists():
            if self._store is not None:
                os.utime(place)  # used now: the last to go
            return place
        with self._making:
            if not place.exists():
                place.parent.mkdir(exist_ok=True)
                data = read_bytes(source)
                if not self._is_stored(source) and hashlib.sha256(data).hexdigest() != number:
                    raise _no_picture()  # replaced since its address was given out
                _make(data, place, variant)
                if self._store is not None:
                    sweep_folder(place.parent, self._store.settings.sizes_mb << 20)
        return place


def show_studio(app: FastAPI, studio: Studio) -> None:
    """Serve this studio from now on: the first one, or the same study under other settings."""
    app.state.images, app.state.studio = study_images(studio, app.state.secret), studio


def study_images(studio: Studio, secret: bytes) -> Images:
    """The pictures of a studio: its items, and the reference panel of its settings."""
    item_images = {item.id: item.image for item in studio.items.values()}
    panel = [reference.image for reference in studio.settings.references]
    return Images(studio.folder, item_images, studio.database, panel, secret=secret)


def _address(key: str, variant: str) -> str:
    return f"/i/{key}-{variant}.{FORMAT[variant]}"


def _make(data: bytes, place: Path, variant: str) -> None:
    image = read_picture(data, place.name).image
    if variant == "full":
        with whole_file(place) as file:
            _pixels_only(image).save(file, "PNG", compress_level=4)
        return
    longest = LONGEST[variant]
    small = _pixels_only(image)
    small.thumbnail((longest, longest), Image.Resampling.LANCZOS)  # never enlarges
    with whole_file(place) as file:
        small.save(file, "WEBP", quality=QUALITY[variant], method=4)


def _pixels_only(image: Image.Image) -> Image.Image:
    """The pixels alone, without texts, profiles and comments that came with them."""
    bare = image.copy()
    bare.info = {}
    return bare


def _no_picture() -> NoSuchPage:
    return NoSuchPage("a picture of this study is needed", found="none here", remedy="load the page again")


_CACHE_HEADERS = {
    "Cache-Control": "private, max-age=31536000, immutable",
    "Last-Modified": "Thu, 01 Jan 1970 00:00:00 GMT",  # a file's own time would match the same picture elsewhere
}
router = APIRouter(include_in_schema=False)


@router.get("/i/{name}")
def picture(name: str, session: Anyone, request: Request) -> FileResponse:
    """One size of one picture; browsers may keep it for good, caches shared by several people may not."""
    images: Images = request.app.state.images
    parts = _NAME.fullmatch(name)
    if parts is None or FORMAT[parts[2]] != parts[3]:
        raise _no_picture()
    try:
        number, source = images.source(parts[1], session)
        place = images.variant(number, source, parts[2])
    except BadFile as error:
        log.warning("request %s: %s", request.state.request_id, error)
        raise _no_picture() from None
    return FileResponse(place, media_type=f"image/{parts[3]}", headers=_CACHE_HEADERS | {"ETag": f'"{name}"'})
