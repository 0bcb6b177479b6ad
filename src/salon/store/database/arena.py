"""A public arena in a studio's database: voters without names, the ballots dealt to them, their votes, the live board.

    database.admit_voter(...)      a cookie's keyed hash becomes a voter, within the limits of an address
    database.deal(...)             a ballot that waits for its one vote; a voter has one open ballot at most
    database.cast(...)             one transaction: the ballot is used up, the vote stored, the limits counted

Everything that processes must agree on is here, so any number of them serve one arena on PostgreSQL. Nothing says who a
voter is: cookies, addresses and devices are keyed hashes whose key is not in the database. A vote is never changed;
it is set aside by a reader's policy, or deleted when its voter asks.

Numbers of votes are given before commits, so a reader that comes back for later ones looks again at those of the last
minutes (`OVERLAP_MS`). Times are milliseconds since 1970.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Float,
    ForeignKey,
    Index,
    Integer,
    Table,
    Text,
    bindparam,
    delete,
    desc,
    exists,
    func,
    insert,
    select,
    text,
    update,
)

from salon.store.database.connection import (
    AlreadyAnswered,
    DatabaseConnection,
    DatabaseError,
    NotActive,
    NotYours,
    PreparedStatement,
    now_ms,
)
from salon.store.database.tables import metadata

OVERLAP_MS = 120_000
"""A transaction that gave out a number has ended after so long."""
_LOCK = 0x5A11
"""PostgreSQL's number for "the board is being fitted"."""
_KEPT_MS = 2 * 86_400_000
"""Counts and used puzzles are forgotten after so long."""


class TooFrequent(DatabaseError):
    """More votes, or more voters, than one place may send in a time."""

    wait: int = 60

    @classmethod
    def of(cls, what: str, limit: Limit) -> TooFrequent:
        """The error for a limit that is used up."""
        error = cls(
            f"at most {limit.most:,} {what} are taken",
            found="more",
            remedy="try again later",
        )
        error.wait = max(1, limit.window_ms // 1000)
        return error


def _key(name: str = "number") -> Column[int]:
    return Column(name, Integer, primary_key=True, autoincrement=True)


def _count(name: str, *, nullable: bool = False) -> Column[int]:
    return Column(name, Integer, nullable=nullable)


def _time(name: str, *, nullable: bool = False) -> Column[int]:
    return Column(name, BigInteger, nullable=nullable)


def _words(name: str, *, nullable: bool = False) -> Column[str]:
    return Column(name, Text, nullable=nullable)


pictures = Table(
    "arena_items", metadata, _key(), Column("id", Text, nullable=False, unique=True), sqlite_autoincrement=True
)
voters = Table(
    "arena_voters",
    metadata,
    _key(),
    Column("key", Text, nullable=False, unique=True),
    _words("address", nullable=True),
    _words("device", nullable=True),
    _time("created_at"),
    _time("withdrawn_at", nullable=True),
    Index(None, "address"),
    sqlite_autoincrement=True,
)
ballots = Table(
    "arena_ballots",
    metadata,
    _key(),
    Column("voter", Integer, ForeignKey("arena_voters.number"), nullable=False),
    _words("criterion"),
    _words("shown"),  # numbers of arena_items in the order shown: 12,7
    Column("chance", Float, nullable=False),
    Column("even", Float, nullable=False),
    _time("dealt_at"),
    _time("voted_at", nullable=True),
    Index(None, "voter"),
    sqlite_autoincrement=True,
)
votes = Table(
    "arena_votes",
    metadata,
    _key(),
    Column("ballot", Integer, ForeignKey("arena_ballots.number"), nullable=False, unique=True),
    Column("voter", Integer, ForeignKey("arena_voters.number"), nullable=False),
    _words("criterion"),
    _count("first"),
    _count("second"),
    _count("third", nullable=True),
    _count("fourth", nullable=True),
    _count("answer"),
    Column("chance", Float, nullable=False),
    Column("even", Float, nullable=False),
    Column("seconds", Float, nullable=False),
    Column("repeated", Boolean(create_constraint=False), nullable=False),
    _words("mark"),
    _time("at"),
    Index(None, "voter"),
    Index(None, "mark"),
    sqlite_autoincrement=True,
)
counts = Table(
    "arena_counts",
    metadata,
    Column("key", Text, primary_key=True),
    Column("slot", BigInteger, primary_key=True, autoincrement=False),
    _count("count"),
)
puzzles = Table("arena_puzzles", metadata, Column("key", Text, primary_key=True), _time("at"))
boards = Table(
    "arena_boards",
    metadata,
    _key(),
    _words("criterion"),
    _time("at"),
    _words("record"),
    _words("design"),
    Index(None, "criterion"),
    sqlite_autoincrement=True,
)


@dataclass(frozen=True)
class Limit:
    """How many of one key are taken in one window of time; windows begin at its multiples."""

    key: str
    most: int
    window_ms: int


@dataclass(frozen=True)
class ArenaVoter:
    """A voter, by number: nothing here says who."""

    number: int
    address: str | None
    device: str | None
    withdrawn: bool


@dataclass(frozen=True)
class Ballot:
    """Pictures that a voter is to compare, in the order shown, and the chance with which they were dealt."""

    number: int
    voter: int
    criterion: str
    items: tuple[int, ...]
    chance: float
    even: float
    """Their chance if all pairs of generators were dealt alike."""
    dealt_at: int
    voted_at: int | None = None
    answer: int | None = None


@dataclass(frozen=True)
class NewBallot:
    """Pictures that are to be dealt; see `Ballot`."""

    criterion: str
    items: tuple[int, ...]
    chance: float
    even: float


@dataclass(frozen=True)
class StoredBoard:
    """The board as it was fitted last, and the chances of the next pairs, as JSON."""

    number: int
    at: int
    record: str
    design: str


VOTE_COLUMNS = ("number", "voter", "at", "first", "second", "third", "fourth", "answer", "chance", "even", "seconds",
                "repeated")  # fmt: skip
_TAKE = text(
    "INSERT INTO arena_counts (key, slot, count) VALUES (:key, :slot, 1) "
    "ON CONFLICT (key, slot) DO UPDATE SET count = arena_counts.count + 1 RETURNING count"
)
_USE = text("INSERT INTO arena_puzzles (key, at) VALUES (:key, :at) ON CONFLICT (key) DO NOTHING RETURNING key")
_NAME = text("INSERT INTO arena_items (id) VALUES (:id) ON CONFLICT (id) DO NOTHING")
_VOTER = PreparedStatement(
    select(voters.c.number, voters.c.address, voters.c.device, voters.c.withdrawn_at).where(
        voters.c.key == bindparam("wanted")
    )
)
_BALLOT = (
    select(
        ballots.c.number, ballots.c.voter, ballots.c.criterion, ballots.c.shown, ballots.c.chance, ballots.c.even,
        ballots.c.dealt_at, ballots.c.voted_at, votes.c.answer,
    ).outerjoin(votes, votes.c.ballot == ballots.c.number)
)  # fmt: skip
_OPEN = PreparedStatement(
    _BALLOT.where(
        ballots.c.voter == bindparam("who"), ballots.c.criterion == bindparam("about"), ballots.c.voted_at.is_(None)
    )
)
_OWN = PreparedStatement(_BALLOT.where(ballots.c.number == bindparam("wanted"), ballots.c.voter == bindparam("who")))


class ArenaMethods(DatabaseConnection):
    """Voters, ballots, votes and boards of a public arena. Every method is one transaction."""

    # -- items and voters -----------------------------------------------------------------------------------

    def number_items(self, ids: Sequence[str]) -> dict[str, int]:
        """A number for every item, the same for every process and for good."""
        known = self.arena_items()
        missing = [{"id": id} for id in ids if id not in known]
        if missing:
            with self.writing() as connection:
                connection.execute(_NAME, missing)
            known = self.arena_items()
        return {id: known[id] for id in ids}

    def arena_items(self) -> dict[str, int]:
        """Numbers of all items that were ever shown, by id."""
        with self.reading() as connection:
            return {id: number for number, id in connection.execute(select(pictures.c.number, pictures.c.id))}

    def admit_voter(
        self, key: str, *, address: str, device: str, puzzle: str, limits: Sequence[Limit], at: int | None = None
    ) -> int:
        """A new voter; NotActive for a puzzle that was used before, TooFrequent beyond a limit of the address."""
        now = now_ms() if at is None else at

        def work(connection: Connection) -> int:
            for limit in limits:
                _take(connection, limit, "new voters", now)
            if connection.execute(_USE, {"key": puzzle, "at": now}).first() is None:
                raise NotActive("a puzzle of your own is needed", found="one that was used before")
            row = {"key": key, "address": address, "device": device, "created_at": now}
            number: int = connection.execute(insert(voters).returning(voters.c.number), row).scalar_one()
            return number

        return self.write(work)

    def arena_voter(self, key: str) -> ArenaVoter | None:
        """The voter of a cookie's keyed hash."""
        with self.reading() as connection:
            row = _VOTER.first(connection, {"wanted": key})
        return None if row is None else ArenaVoter(row[0], row[1], row[2], row[3] is not None)

    def voters_since(self, address: str, since: int) -> int:
        """How many voters came from an address since then."""
        query = select(func.count()).where(voters.c.address == address, voters.c.created_at >= since)
        with self.reading() as connection:
            return int(connection.execute(query).scalar_one())

    def withdraw_voter(self, voter: int, *, at: int | None = None) -> int:
        """Delete a voter's votes and what is known of them; how many votes there were."""
        now = now_ms() if at is None else at
        with self.writing() as connection:
            connection.execute(
                update(voters).where(voters.c.number == voter).values(withdrawn_at=now, address=None, device=None)
            )
            gone = connection.execute(delete(votes).where(votes.c.voter == voter)).rowcount
            connection.execute(delete(ballots).where(ballots.c.voter == voter))
        return int(gone)

    # -- ballots and votes ----------------------------------------------------------------------------------

    def open_ballot(self, voter: int, criterion: str) -> Ballot | None:
        """The ballot that waits for this voter's vote."""
        with self.reading() as connection:
            return _ballot(_OPEN.first(connection, {"who": voter, "about": criterion}))

    def ballot(self, number: int, voter: int) -> Ballot:
        """A ballot of this voter; NotYours for anybody else's."""
        with self.reading() as connection:
            found = _ballot(_OWN.first(connection, {"wanted": number, "who": voter}))
        if found is None:
            raise NotYours("a ballot that was dealt to you is needed", found="another, or none")
        return found

    def sets_seen(self, voter: int, criterion: str) -> set[frozenset[int]]:
        """Sets of pictures that this voter was dealt before."""
        query = select(ballots.c.shown).where(ballots.c.voter == voter, ballots.c.criterion == criterion)
        with self.reading() as connection:
            return {frozenset(map(int, row[0].split(","))) for row in connection.execute(query)}

    def deal(self, voter: int, ballot: NewBallot, *, at: int | None = None) -> Ballot:
        """Deal a ballot, unless one is open before this voter: then that one, for nobody chooses among several."""
        now = now_ms() if at is None else at
        row = {"voter": voter, "criterion": ballot.criterion, "shown": ",".join(map(str, ballot.items)),
               "chance": ballot.chance, "even": ballot.even, "dealt_at": now}  # fmt: skip

        def work(connection: Connection) -> Ballot:
            locked = select(voters.c.withdrawn_at).where(voters.c.number == voter).with_for_update()
            who = connection.execute(locked).first()
            if who is None or who[0] is not None:
                raise NotActive("a voter of this arena is needed", found="one who left")
            waiting = _ballot(_OPEN.first(connection, {"who": voter, "about": ballot.criterion}))
            if waiting is not None:
                return waiting
            number = connection.execute(insert(ballots).returning(ballots.c.number), row).scalar_one()
            return Ballot(number, voter, ballot.criterion, ballot.items, ballot.chance, ballot.even, now)

        return self.write(work)

    def discard(self, ballot: int) -> None:
        """Drop an open ballot whose pictures are gone."""
        with self.writing() as connection:
            connection.execute(delete(ballots).where(ballots.c.number == ballot, ballots.c.voted_at.is_(None)))

    def cast(
        self, ballot: Ballot, answer: int, *, mark: str, limits: Sequence[Limit] = (), at: int | None = None
    ) -> bool:
        """Store the vote of a ballot; AlreadyAnswered where it has one. True where the same place voted on it before.

        `mark` is a keyed hash of address, device and pictures: a second vote with it is kept and not counted.
        """
        now = now_ms() if at is None else at
        shown = [*ballot.items, None, None]

        def work(connection: Connection) -> bool:
            for limit in limits:
                _take(connection, limit, "votes", now)
            used = update(ballots).where(
                ballots.c.number == ballot.number, ballots.c.voter == ballot.voter, ballots.c.voted_at.is_(None)
            )
            if connection.execute(used.values(voted_at=now)).rowcount != 1:
                raise AlreadyAnswered("a ballot without a vote is needed", found="one that was voted on")
            repeated = bool(connection.execute(select(exists().where(votes.c.mark == mark))).scalar())
            connection.execute(
                insert(votes),
                {
                    "ballot": ballot.number, "voter": ballot.voter, "criterion": ballot.criterion,
                    "first": shown[0], "second": shown[1], "third": shown[2], "fourth": shown[3],
                    "answer": answer, "chance": ballot.chance, "even": ballot.even,
                    "seconds": (now - ballot.dealt_at) / 1000, "repeated": repeated, "mark": mark, "at": now,
                },
            )  # fmt: skip
            return repeated

        return self.write(work)

    # -- what a board is fitted from ------------------------------------------------------------------------

    def arena_votes(self, criterion: str, *, after: int = 0) -> Iterator[list[tuple[Any, ...]]]:
        """Votes with numbers above `after`, in their order and in batches: `VOTE_COLUMNS`."""
        query = (
            select(*[votes.c[name] for name in VOTE_COLUMNS])
            .where(votes.c.criterion == criterion, votes.c.number > after)
            .order_by(votes.c.number)
        )
        with self.snapshot() as connection:
            for part in connection.execution_options(yield_per=50_000).execute(query).partitions():
                yield [tuple(row) for row in part]

    def count_votes(self, criterion: str) -> tuple[int, int]:
        """How many votes there are, and the highest number: what changes when a board has to be fitted again."""
        query = select(func.count(), func.coalesce(func.max(votes.c.number), 0)).where(votes.c.criterion == criterion)
        with self.reading() as connection:
            count, newest = connection.execute(query).one()
        return int(count), int(newest)

    def voter_addresses(self) -> dict[int, str]:
        """Keyed hashes of addresses by voter, while they are kept."""
        query = select(voters.c.number, voters.c.address).where(voters.c.address.is_not(None))
        with self.reading() as connection:
            return {row.number: row.address for row in connection.execute(query)}

    @contextmanager
    def fitting(self) -> Iterator[bool]:
        """Whether this process is the one that fits boards now; PostgreSQL lets one in at a time."""
        if self.sqlite:
            yield True
            return
        with self.writing() as connection:
            lock = text("SELECT pg_try_advisory_xact_lock(:lock)")
            yield bool(connection.execute(lock, {"lock": _LOCK}).scalar())

    def put_board(self, criterion: str, record: str, design: str, *, at: int | None = None) -> int:
        """Keep a board and the design that follows from it; the ten before it are kept too."""
        row = {"criterion": criterion, "at": now_ms() if at is None else at, "record": record, "design": design}
        with self.writing() as connection:
            number: int = connection.execute(insert(boards).returning(boards.c.number), row).scalar_one()
            connection.execute(delete(boards).where(boards.c.criterion == criterion, boards.c.number <= number - 10))
        return number

    def newest_board(self, criterion: str, *, after: int = 0) -> StoredBoard | None:
        """The newest board with a number above `after`; None where there is none."""
        query = select(boards.c.number, boards.c.at, boards.c.record, boards.c.design).where(
            boards.c.criterion == criterion, boards.c.number > after
        )
        with self.reading() as connection:
            row = connection.execute(query.order_by(desc(boards.c.number)).limit(1)).first()
        return None if row is None else StoredBoard(*row)

    def forget_places(self, before: int, *, at: int | None = None) -> None:
        """Forget addresses and devices of voters who came before then, and old counts and puzzles."""
        old = (now_ms() if at is None else at) - _KEPT_MS
        with self.writing() as connection:
            known = voters.c.address.is_not(None) | voters.c.device.is_not(None)
            connection.execute(
                update(voters).where(voters.c.created_at < before, known).values(address=None, device=None)
            )
            connection.execute(delete(puzzles).where(puzzles.c.at < old))
            connection.execute(delete(counts).where(counts.c.slot < old))


def _take(connection: Connection, limit: Limit, what: str, at: int) -> None:
    """One more of a limit's key in the window of `at`."""
    slot = at - at % limit.window_ms
    taken: int = connection.execute(_TAKE, {"key": limit.key, "slot": slot}).scalar_one()
    if taken > limit.most:
        raise TooFrequent.of(what, limit)


def _ballot(row: Sequence[Any] | None) -> Ballot | None:
    if row is None:
        return None
    number, voter, criterion, shown, chance, even, dealt_at, voted_at, answer = row
    numbers = tuple(int(item) for item in str(shown).split(","))
    return Ballot(number, voter, criterion, numbers, chance, even, dealt_at, voted_at, answer)
