"""Several processes that each make one object and answer calls with it; a call goes to whichever has least to do.

    replicas = Replicas([make, make])
    replicas.start()                   # waits until each has made its object
    answer = replicas.call(task)       # from any thread

`make()` gives a function and what is to be known of it. A process that dies is started again, and its calls go to
another; after `attempts` deaths a call raises ReplicaDied. The processes ignore Ctrl-C and
SIGTERM, so that whoever started them can finish what is under way; they end when their pipe does.
"""

from __future__ import annotations

import atexit
import itertools
import logging
import os
import pickle
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any, Literal, Protocol

from pydantic import Field

from salon.engine.processes import cores, hide_main, pack_error, unpack_error
from salon.errors import SalonError
from salon.study import Noun

Make = Callable[[], tuple[Callable[[Any], Any], Any]]
"""Gives a function, and what is to be known of it."""
AT_ONCE = 2
"""Calls with one replica: one is prepared while the other computes."""
_END_SECONDS = 10.0
_STOP_SECONDS = 60.0
_LONGEST_PAUSE = 60.0
_THREADS = "OMP_NUM_THREADS"

log = logging.getLogger("salon.replicas")


class ReplicaDied(SalonError):
    """The replicas that a call was given to ended before they answered."""


class ReplicaStatus(Noun):
    """One replica at this moment."""

    number: int = Field(description="Place of the replica, from 0.")
    place: str = Field(description="Where it computes: a device, or a node of a cluster.")
    state: Literal["starting", "ready", "stopped"] = Field(description="Whether it takes calls.")
    pid: int | None = Field(None, description="Its process.")
    under_way: int = Field(0, description="Calls it has now.")
    answered: int = Field(0, description="What it answered since the service began, in units of work.")
    deaths: int = Field(0, description="Times it ended by itself and was started again.")
    memory: int | None = Field(None, description="Bytes of memory it holds.")
    reason: str | None = Field(None, description="Why it is not ready, or why it last ended.")


class CallsReplicas(Protocol):
    """Replicas on this machine or on a cluster."""

    at_once: int
    """Calls that all of them take together."""
    closing: bool
    """Whether they are being stopped."""

    def start(self) -> list[Any]:
        """Wait until each has made its object; what is to be known of each."""
        ...

    def call(self, task: Any, size: int = 1, attempts: int = 1) -> Any:
        """The answer of one of them; what its function raised is raised here."""
        ...

    def status(self) -> list[ReplicaStatus]:
        """Each of them, now."""
        ...

    def moves(self, seconds: float) -> bool:
        """Whether one at least takes calls and has none that is older than `seconds`."""
        ...

    def close(self) -> None:
        """End them, after what is under way."""
        ...


class Replicas:
    """Processes of this machine, one for each of `makes`; `refuse` says why an object that was made is not the same."""

    def __init__(
        self,
        makes: Sequence[Make],
        *,
        places: Sequence[str] = (),
        refuse: Callable[[Any], str | None] = lambda known: None,
    ) -> None:
        self._changed = threading.Condition()
        self.closing = False
        names = places or ["cpu"] * len(makes)
        threads = max(1, cores() // len(makes))
        self._replicas = [
            _Replica(number, make, place, {_THREADS: str(threads)}, self._changed, refuse)
            for number, (make, place) in enumerate(zip(makes, names, strict=True))
        ]
        self.at_once = AT_ONCE * len(makes)
        atexit.register(self.close)

    def start(self) -> list[Any]:
        """Start all, and wait until each has made its object; the first error ends them all."""
        for replica in self._replicas:
            replica.start()
        with self._changed:
            self._changed.wait_for(self._is_settled)
        failed = [replica for replica in self._replicas if replica.has_failed]
        if failed:
            self.close()
        return [replica.first_made.result() for replica in failed or self._replicas]

    def _is_settled(self) -> bool:
        replicas = self._replicas
        return any(replica.has_failed for replica in replicas) or all(replica.is_ready for replica in replicas)

    def call(self, task: Any, size: int = 1, attempts: int = 1) -> Any:
        """The answer of the replica with least to do; ReplicaDied when `attempts` of them died over it.

        `size` is how much work it is, for the figures."""
        for attempt in itertools.count(1):
            replica = self._take()
            try:
                return replica.ask(task, size)
            except ReplicaDied:
                if attempt >= attempts or self.closing:
                    raise
            finally:
                with self._changed:
                    replica.calls -= 1
                    self._changed.notify_all()

    def _take(self) -> _Replica:
        """A replica that is ready and has a place; waits for one."""
        with self._changed:
            while not self.closing:
                ready = [entry for entry in self._replicas if entry.is_ready and entry.calls < AT_ONCE]
                if ready:
                    replica = min(ready, key=lambda entry: (entry.calls, entry.answered))
                    replica.calls += 1
                    return replica
                self._changed.wait()
        raise ReplicaDied("a replica that runs is needed", found="they were stopped")

    def status(self) -> list[ReplicaStatus]:
        """Each of them, now."""
        return [replica.status() for replica in self._replicas]

    def moves(self, seconds: float) -> bool:
        """Whether one at least takes calls and has none that is older than `seconds`."""
        now = time.monotonic()
        return any(replica.is_ready and now - replica.oldest_call(now) < seconds for replica in self._replicas)

    def close(self) -> None:
        """End them, after what is under way."""
        with self._changed:
            self.closing = True
            self._changed.notify_all()
        for replica in self._replicas:
            replica.stop()
        for replica in self._replicas:
            replica.join()  # what hangs is killed
        atexit.unregister(self.close)


class _Replica:
    """One process, from this side: a thread starts it, hears its answers, and starts it again when it dies."""

    def __init__(
        self, number: int, make: Make, place: str, environment: Mapping[str, str],
        changed: threading.Condition, refuse: Callable[[Any], str | None],
    ) -> None:  # fmt: skip
        self.number, self._make, self._place, self._environment = number, make, place, environment
        self._changed, self._refuse = changed, refuse
        self.first_made: Future[Any] = Future()
        self.is_ready = False
        self.calls = self.answered = self.deaths = 0
        self._reason: str | None = None
        self._process: Any = None
        self._pipe: Connection | None = None
        self._sending = threading.Lock()
        self._waiting: dict[int, tuple[Future[Any], float]] = {}
        self._ids = itertools.count()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"salon-replica-{number}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    @property
    def has_failed(self) -> bool:
        """Whether it could not make its object at the first start."""
        return self.first_made.done() and self.first_made.exception() is not None

    def ask(self, task: Any, size: int) -> Any:
        """Send a task and wait for its answer."""
        future: Future[Any] = Future()
        id = next(self._ids)
        with self._sending:
            pipe = self._pipe
            if pipe is None:
                raise self._death()
            self._waiting[id] = future, time.monotonic()
            try:
                pipe.send((id, task))
            except OSError:  # it died meanwhile: its thread hears of it too
                self._waiting.pop(id, None)
                raise self._death() from None
        answer = future.result()
        self.answered += size
        return answer

    def oldest_call(self, now: float) -> float:
        """When the call that is longest under way was sent; `now` where there is none."""
        return min((since for _, since in list(self._waiting.values())), default=now)

    def status(self) -> ReplicaStatus:
        state: Literal["starting", "ready", "stopped"] = "ready" if self.is_ready else "starting"
        pid = self._process.pid if self._process is not None and self._process.is_alive() else None
        return ReplicaStatus(
            number=self.number, place=self._place, state="stopped" if self._stop.is_set() else state, pid=pid,
            under_way=self.calls, answered=self.answered, deaths=self.deaths,
            memory=None if pid is None else resident_bytes(pid), reason=self._reason,
        )  # fmt: skip

    # -- its life ------------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        pause = 0.0
        while not self._stop.wait(pause):
            started = time.monotonic()
            self._live()
            if not self.first_made.done():
                self.first_made.set_exception(self._death())
            with self._changed:
                self._changed.notify_all()
            calm = time.monotonic() - started > _LONGEST_PAUSE
            pause = 0.0 if calm else min(_LONGEST_PAUSE, max(0.5, 2 * pause))

    def _live(self) -> None:
        """One process from its start to its end."""
        context = get_context("spawn")
        pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(self._make, theirs), name=f"salon-replica-{self.number}")
        with _environment(self._environment), hide_main():
            self._process.start()
        theirs.close()
        try:
            if self._hear_made(pipe) and self._open(pipe):
                while True:
                    self._hear_answer(pipe)
        except (EOFError, OSError):
            pass
        finally:
            self._end(pipe)

    def _hear_made(self, pipe: Connection) -> bool:
        good, known = pipe.recv()
        if not good:
            error = unpack_error(*known)
            self._reason = " ".join(str(error).split())
            if not self.first_made.done():
                self.first_made.set_exception(error)
            log.warning("replica %d could not start: %s", self.number, self._reason)
            return False
        reason = self._refuse(known) if self.first_made.done() else None
        if reason is not None:
            self._reason = reason
            log.error("replica %d serves no more: %s", self.number, reason)
            return False
        if not self.first_made.done():
            self.first_made.set_result(known)
        return True

    def _open(self, pipe: Connection) -> bool:
        """From now on it takes calls; not where it was stopped meanwhile."""
        with self._sending:
            if self._stop.is_set():
                return False
            self._pipe = pipe
        with self._changed:
            self.is_ready, self._reason = True, None
            self._changed.notify_all()
        return True

    def _hear_answer(self, pipe: Connection) -> None:
        id, good, answer = pipe.recv()
        with self._sending:
            future, _ = self._waiting.pop(id)
        if good:
            future.set_result(answer)
        else:
            future.set_exception(unpack_error(*answer))

    def _end(self, pipe: Connection) -> None:
        """Whatever ended it: nobody waits for it any more."""
        was_ready = self.is_ready
        with self._changed:
            self.is_ready = False
        with self._sending:
            self._pipe = None
            lost, self._waiting = self._waiting, {}
            pipe.close()
        self._process.join(_END_SECONDS)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        if was_ready and not self._stop.is_set():
            self.deaths += 1
            code = self._process.exitcode
            self._reason = (
                f"killed by {signal.Signals(-code).name}" if code is not None and code < 0 else f"exit {code}"
            )
            log.error("replica %d ended (%s) with %d calls under way; it is started again", self.number, self._reason,
                      len(lost))  # fmt: skip
        for future, _ in lost.values():
            future.set_exception(self._death())

    def _death(self) -> ReplicaDied:
        return ReplicaDied(
            "a replica must live until it answers", found=self._reason or "it ended", where=f"replica {self.number}",
            remedy="if memory ran out, start fewer replicas",
        )  # fmt: skip

    def stop(self) -> None:
        """Ask it to end after what it has."""
        self._stop.set()
        with self._sending:
            if self._pipe is not None:
                with suppress(OSError):
                    self._pipe.send(None)
            elif self._process is not None and self._process.is_alive():
                self._process.kill()  # it has no calls yet

    def join(self) -> None:
        """Wait for its end; what hangs is killed."""
        if self._thread.ident is None:
            return
        self._thread.join(_STOP_SECONDS)
        if self._thread.is_alive() and self._process is not None:
            self._process.kill()
            self._thread.join()


def resident_bytes(pid: int) -> int | None:
    """Memory that a process holds now; None where the system does not say."""
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return None


_start_turn = threading.Lock()


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Variables that a process started meanwhile begins with; those that the user set stay. One start at a time."""
    with _start_turn:
        added = [name for name in variables if name not in os.environ]
        os.environ.update({name: variables[name] for name in added})
        try:
            yield
        finally:
            for name in added:
                os.environ.pop(name, None)


# -- in the process --------------------------------------------------------------------------------------------------


def _serve(make: Make, pipe: Connection) -> None:
    """A replica's life: make the object, then answer until the pipe closes or a last word comes."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    try:
        function, known = make()
    except Exception as error:
        pipe.send((False, pack_error(error)))
        return
    with suppress(OSError):  # whoever started it may be gone, as the first recv will tell
        pipe.send((True, known))
    sending = threading.Lock()

    def answer(id: int, task: Any) -> None:
        try:
            result = (id, True, function(task))
        except Exception as error:
            result = (id, False, pack_error(error))
        with sending:
            try:
                pipe.send(result)
            except (TypeError, AttributeError, ValueError, pickle.PicklingError) as error:
                pipe.send((id, False, pack_error(TypeError(f"an answer cannot be sent back: {error}"))))

    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="salon-call") as calls:
        try:
            while (message := pipe.recv()) is not None:
                calls.submit(answer, *message)
        except (EOFError, OSError):
            os._exit(0)  # whoever started it is gone: nobody waits for an answer
    pipe.close()
