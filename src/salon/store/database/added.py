"""Judgments that no task asked for: those of an imported file, and an adjudicator's rulings.

They stand among the answers of raters, are read with them, and are taken back as those are: the row stays as history.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import insert, select

from salon.errors import BadValue
from salon.store.database.audit import note
from salon.store.database.connected import now_ms
from salon.store.database.errors import NothingToUndo
from salon.store.database.records import Answer, Saved, plain
from salon.store.database.submit import Answers
from salon.store.database.tables import judgments, raters, undos
from salon.study import Judgment, Rater


class Added(Answers):
    """Answers without a task."""

    def add_judgments(
        self,
        answers: Sequence[tuple[str, Judgment | Answer]],
        *,
        key: str,
        what: str,
        new: Sequence[Rater] = (),
        by: str = "owner",
        at: int | None = None,
    ) -> Saved:
        """Write answers, each with its rater, and the `new` raters among them: all in one transaction, or nothing.

        key     the same one again writes nothing, whoever sends it
        what    what the audit says was done
        """
        at = now_ms() if at is None else at
        frame, key = self.frame(), plain(key, where="key", most=200)
        shared = {"counted": True, "answered_at": at, "key": key}
        rows = [
            shared | frame.row(answer, rater) | {"rater": rater, "part": part}
            for part, (rater, answer) in enumerate(answers)
        ]
        if not rows:
            raise BadValue("at least one judgment is needed", found="none", where=what)
        people = [
            {"id": plain(one.id, where="the id of a rater", most=200), "kind": one.kind, "cohort": one.cohort}
            | {"status": "active", "created_at": at}
            for one in new
        ]
        with self.writing() as connection:
            there = connection.scalars(select(judgments.c.id).where(judgments.c.key == key)).all()
            if there:
                return Saved(tuple(there), repeated=True)
            if people:
                connection.execute(insert(raters), people)
            written = insert(judgments).returning(judgments.c.id, sort_by_parameter_order=True)
            ids = connection.scalars(written, rows).all()
            note(connection, by, what, at, judgments=len(ids), raters=len({row["rater"] for row in rows}))
            return Saved(tuple(ids), repeated=False)

    def has_key(self, key: str) -> bool:
        """Was something written under this key before?"""
        with self.reading() as connection:
            return connection.execute(select(judgments.c.id).where(judgments.c.key == key).limit(1)).first() is not None

    def take_back(self, rater: str, id: int, *, what: str, by: str, at: int | None = None) -> None:
        """Take back one answer of a rater that no task asked for; NothingToUndo when there is none such."""
        at = now_ms() if at is None else at
        with self.writing() as connection:
            undone = select(undos.c.judgment).where(undos.c.judgment == judgments.c.id).exists()
            own = (judgments.c.id == id) & (judgments.c.rater == rater) & judgments.c.task.is_(None) & ~undone
            if connection.execute(select(judgments.c.id).where(own)).first() is None:
                raise NothingToUndo("an answer that may be taken back is needed", found="none")
            connection.execute(insert(undos), {"judgment": id, "at": at})
            note(connection, by, what, at)
