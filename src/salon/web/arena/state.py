"""What an arena's routes share: who a voter is, which ballot comes next, and the board as it was fitted last.

A voter is a random token in a signed cookie; the database holds its keyed hash. Addresses and devices become keyed
hashes before anything else sees them. All keys come from one secret in the study folder, so every process of an arena
agrees and nobody else can match a hash.

    ballot      NUMBER.MAC        MAC over voter and number: nobody can vote on another's ballot
    picture     NUMBER-PLACE-MAC  the same, for one picture of one ballot: no address is like that of another ballot
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from itsdangerous import BadSignature, URLSafeTimedSerializer
from starlette.requests import Request
from starlette.responses import Response

from salon.bench import LiveBoard, PublicArena, draw_ballot, read_answer, read_design
from salon.collect import TooEarly
from salon.errors import BadFile
from salon.store import AlreadyAnswered, ArenaVoter, Ballot, Limit, NotYours, read_bytes
from salon.study import Captcha, Item
from salon.web.arena.captcha import open_captcha
from salon.web.arena.settings import ArenaWebSettings
from salon.web.errors import NoSuchPage, NotAllowed
from salon.web.guard import address_of, session_cookie
from salon.web.images import Images

if TYPE_CHECKING:
    from numpy.typing import NDArray

DAY_MS = 86_400_000
BOARD_SECONDS = 2.0
"""How old the board that a process remembers may be."""
PADDING = 16 << 10
"""Pictures are sent in multiples of so many bytes: their sizes alone tell little."""
_MAC = 22


@dataclass(frozen=True)
class Place:
    """Where a request comes from, as keyed hashes."""

    address: str
    device: str


@dataclass
class _BoardCache:
    """The newest board this process has read."""

    number: int = 0
    board: LiveBoard | None = None
    record: str | None = None
    design: str | None = None
    chances: NDArray[np.float64] | None = field(default=None, repr=False)
    looked_at: float = -1e9


class ArenaState:
    """One arena in one process."""

    def __init__(self, arena: PublicArena, web: ArenaWebSettings, secret: bytes) -> None:
        self.arena, self.web, self.database = arena, web, arena.database
        self._secret = secret
        self._signer = URLSafeTimedSerializer(self._key("cookie"), salt="salon arena voter")
        self.captcha: Captcha = open_captcha(web.captcha, self._key("puzzle"), web.difficulty)
        items = {item.id: item.image for item in arena.field.items}
        self._images = Images(arena.folder, items, arena.database, secret=secret)
        self._cache, self._turn = _BoardCache(), threading.Lock()

    @property
    def title(self) -> str:
        """What voters read above."""
        return self.web.title or self.arena.name

    # -- voters ---------------------------------------------------------------------------------------------

    def place(self, request: Request) -> Place:
        """Keyed hashes of address and device."""
        address = address_of(request.scope)
        headers = request.headers
        device = "\0".join(headers.get(name, "") for name in ("user-agent", "accept-language", "sec-ch-ua-platform"))
        return Place(self._hash("address", address), self._hash("device", device))

    def voter(self, request: Request) -> ArenaVoter | None:
        """Whose cookie a request carries; None for nobody, a forged cookie, or a voter who left."""
        cookie = session_cookie(request.headers, self.web.cookie)
        if cookie is None or len(cookie) > 400:
            return None
        try:
            token = self._signer.loads(cookie, max_age=int(self.web.voter_days * 86_400))
        except BadSignature:
            return None
        voter = self.database.arena_voter(self._hash("voter", str(token)))
        return None if voter is None or voter.withdrawn else voter

    def require_voter(self, request: Request) -> ArenaVoter:
        """The voter of a request; NotAllowed without one."""
        voter = self.voter(request)
        if voter is None:
            raise NotAllowed("a voter of this arena is needed", found="no cookie of one", remedy="open the first page")
        return voter

    def newcomers(self, place: Place) -> int:
        """Voters who came from an address in the last day."""
        return self.database.voters_since(place.address, int(time.time() * 1000) - DAY_MS)

    def admit(self, form: Mapping[str, str], place: Place) -> str:
        """Make a voter of a solved puzzle; the cookie."""
        solved = self.captcha.verify(form, self.newcomers(place))
        token = secrets.token_urlsafe(24)
        self.database.admit_voter(
            self._hash("voter", token),
            address=place.address,
            device=place.device,
            puzzle=self._hash("solved", solved),
            limits=[Limit(f"newcomers {place.address}", self.web.voters_a_day, DAY_MS)],
        )
        return self._signer.dumps(token)

    def give_cookie(self, response: Response, cookie: str) -> None:
        """Put a voter's cookie into the answer."""
        response.set_cookie(
            self.web.cookie, cookie, max_age=int(self.web.voter_days * 86_400), path="/", httponly=True, samesite="lax",
            secure=self.web.https,
        )  # fmt: skip

    def withdraw(self, voter: ArenaVoter) -> int:
        """Delete a voter's votes."""
        return self.database.withdraw_voter(voter.number)

    # -- ballots --------------------------------------------------------------------------------------------

    def next_ballot(self, voter: ArenaVoter) -> Ballot:
        """The ballot that is open before a voter, or a new one."""
        waiting = self.database.open_ballot(voter.number, self.arena.criterion)
        if waiting is not None:
            if all(self.arena.field.item(number) is not None for number in waiting.items):
                return waiting
            self.database.discard(waiting.number)
        self._look()
        chances = self._cache.chances
        if chances is None:
            chances = read_design(None, self.arena.field, self.arena.settings.random)
        seen = self.database.sets_seen(voter.number, self.arena.criterion)
        rng = np.random.default_rng(secrets.randbits(128))
        drawn = draw_ballot(self.arena.field, chances, self.arena.settings, seen=seen, rng=rng)
        return self.database.deal(voter.number, drawn)

    def token(self, ballot: Ballot) -> str:
        """What a page sends back with a vote."""
        return f"{ballot.number}.{self._mac('ballot', ballot.voter, ballot.number)}"

    def ballot(self, token: str, voter: ArenaVoter) -> Ballot:
        """The voter's ballot of a token; NotYours for any other."""
        number, _, mac = token.partition(".")
        if not number.isascii() or not number.isdigit() or len(number) > 12:
            raise _no_ballot()
        if not hmac.compare_digest(mac.encode(), self._mac("ballot", voter.number, int(number)).encode()):
            raise _no_ballot()
        return self.database.ballot(int(number), voter.number)

    def cast(self, token: str, word: str, voter: ArenaVoter, place: Place) -> Ballot:
        """Store a vote. A ballot that was voted on stays as it is: whoever sends it again sees what they said."""
        ballot = self.ballot(token, voter)
        if ballot.voted_at is not None:
            return ballot
        answer = read_answer(word, len(ballot.items))
        left = self.web.least_seconds - (time.time() - ballot.dealt_at / 1000)
        if left > 0:
            raise TooEarly(left)
        shown = ",".join(map(str, sorted(ballot.items)))
        mark = self._hash("mark", f"{place.address}\0{place.device}\0{ballot.criterion}\0{shown}")
        limits = [
            Limit(f"voter {voter.number}", self.web.votes_a_minute, 60_000),
            Limit(f"votes {place.address}", self.web.votes_an_hour, 3_600_000),
        ]
        with suppress(AlreadyAnswered):  # sent twice at once
            self.database.cast(ballot, answer, mark=mark, limits=limits)
        return self.database.ballot(ballot.number, voter.number)

    def items(self, ballot: Ballot) -> list[Item]:
        """What a ballot shows."""
        items = [self.arena.field.item(number) for number in ballot.items]
        if any(item is None for item in items):
            raise NoSuchPage("a ballot whose pictures are still there is needed", found="one whose are gone")
        return [item for item in items if item is not None]

    # -- pictures -------------------------------------------------------------------------------------------

    def picture_address(self, ballot: Ballot, place: int) -> str:
        """Where the voter of a ballot finds its picture, and nobody else."""
        mac = self._mac("picture", ballot.voter, ballot.number, place)
        return f"/p/{ballot.number}-{place}-{mac}.webp"

    def picture(self, number: int, place: int, mac: str, voter: ArenaVoter) -> bytes:
        """The pixels of one picture of one of the voter's ballots, with nothing else that came with the file."""
        if not hmac.compare_digest(mac.encode(), self._mac("picture", voter.number, number, place).encode()):
            raise _no_picture()
        try:
            ballot = self.database.ballot(number, voter.number)
            item = self.items(ballot)[place]
            path = self._images.file(item.id, "screen")
            data = b"" if path is None else read_bytes(path)
        except (NotYours, IndexError, BadFile):
            raise _no_picture() from None
        if not data:
            raise _no_picture()
        return data + bytes(-len(data) % PADDING)  # after its end, which decoders do not read

    # -- the board ------------------------------------------------------------------------------------------

    def board(self) -> LiveBoard | None:
        """The newest board, at most two seconds late."""
        self._look()
        return self._cache.board

    def board_record(self) -> str | None:
        """The same as JSON."""
        self._look()
        return self._cache.record

    def _look(self) -> None:
        """Read a newer board, if there is one and the last look is some time ago."""
        with self._turn:
            known = self._cache
            if time.monotonic() - known.looked_at < BOARD_SECONDS:
                return
            stored = self.database.newest_board(self.arena.criterion, after=known.number)
            if stored is None:
                known.looked_at = time.monotonic()
                return
            self._cache = _BoardCache(
                number=stored.number,
                board=LiveBoard.parse(json.loads(stored.record), where="the newest board"),
                record=stored.record,
                design=stored.design,
                chances=read_design(stored.design, self.arena.field, self.arena.settings.random),
                looked_at=time.monotonic(),
            )

    # -- keyed hashes ---------------------------------------------------------------------------------------

    def _key(self, purpose: str) -> bytes:
        return hmac.new(self._secret, f"arena {purpose}".encode(), hashlib.sha256).digest()

    def _hash(self, purpose: str, text: str) -> str:
        digest = hmac.new(self._key(purpose), text.encode("utf-8", "surrogateescape"), hashlib.sha256).digest()
        return base64.urlsafe_b64encode(digest)[:_MAC].decode()

    def _mac(self, purpose: str, *parts: int) -> str:
        return self._hash(purpose, "|".join(map(str, parts)))


def _no_ballot() -> NotYours:
    return NotYours("a ballot that was dealt to you is needed", found="another, or none", remedy="open the first page")


def _no_picture() -> NoSuchPage:
    return NoSuchPage("a picture of a ballot of yours is needed", found="none here", remedy="load the page again")


def arena_state(request: Request) -> ArenaState:
    """The arena of the app."""
    state: ArenaState = request.app.state.arena
    return state
