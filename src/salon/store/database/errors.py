"""What can go wrong between a studio and its database.

    SalonError
    └── DatabaseError             the database cannot do this now
        ├── Unavailable           it cannot be opened, read or written: absent, locked, no room, wrong password
        │   └── Damaged           its file is no whole SQLite database: restore a backup
        ├── WrongSchema           made by another version of Salon, or not by Salon at all
        ├── StudyThere            it holds a study already
        ├── NoStudy               it holds no study yet
        ├── NotYours              a task that is not this rater's, or not there
        ├── AlreadyAnswered       the task has an answer under another key
        ├── KeyReused             the key stands for another answer
        ├── NotActive             the rater is paused, removed or withdrawn
        ├── UnknownRater          no rater has this id
        ├── NothingToUndo         no answer may be taken back
        └── BadLink               a link that was never given, was revoked or has expired

Messages never hold a password, a token, or whether somebody else's task exists.
"""

from __future__ import annotations

from salon.errors import SalonError


class DatabaseError(SalonError):
    """The database cannot do this now."""


class Unavailable(DatabaseError):
    """The database cannot be opened, read or written."""


class Damaged(Unavailable):
    """The file is no whole SQLite database."""


class WrongSchema(DatabaseError):
    """The tables were made by another version of Salon, or not by Salon at all."""


class StudyThere(DatabaseError):
    """The database holds a study already."""


class NoStudy(DatabaseError):
    """The database holds no study yet."""


class NotYours(DatabaseError):
    """A task that is not this rater's, or not there at all: the two are not told apart."""


class AlreadyAnswered(DatabaseError):
    """The task has an answer under another key."""


class KeyReused(DatabaseError):
    """The idempotency key stands for another answer of this rater."""


class NotActive(DatabaseError):
    """The rater is paused, removed or withdrawn."""


class UnknownRater(DatabaseError):
    """No rater has this id."""

    @classmethod
    def named(cls, rater: str) -> UnknownRater:
        """The error for the id `rater`."""
        return cls("a rater of the study is needed", found=repr(rater), remedy="invite the rater first")


class NothingToUndo(DatabaseError):
    """No answer may be taken back."""


class BadLink(DatabaseError):
    """A link that was never given, was revoked or has expired."""
