"""Replicas on Ray Serve: the same calls as `Replicas`, on the machines of a cluster.

Ray Serve holds the replicas, checks their health and starts those anew that died; a call goes through its router to the
one with least to do. A call whose replica died is made again, as on one machine. There is no HTTP of Ray Serve's own:
whoever calls speaks to people.
"""

from __future__ import annotations

import itertools
import logging
import os
import socket
import threading
import time
from contextlib import ExitStack, suppress
from typing import Any

from salon.engine.processes import pack_error, unpack_error
from salon.engine.ray_workers import open_cluster
from salon.engine.replicas import AT_ONCE, Make, ReplicaDied, ReplicaStatus, resident_bytes
from salon.errors import BadValue, MissingExtra

os.environ.setdefault("RAY_SERVE_LOG_TO_STDERR", "0")
try:
    import ray
    from ray import serve
    from ray.exceptions import RayActorError, RayTaskError
except ImportError:  # pragma: no cover - the tests have it
    raise MissingExtra("ray") from None

_START_SECONDS = 3600.0
_HEALTH_SECONDS = 5.0
_PAUSE_SECONDS = 0.2
_numbers = itertools.count(1)
log = logging.getLogger("salon.replicas")
logging.getLogger("ray.serve").setLevel(logging.ERROR)


class RayReplicas:
    """`count` replicas of what `make` makes, as one application of Ray Serve."""

    def __init__(self, make: Make, count: int, *, address: str | None = None, gpus: int = 0) -> None:
        self.at_once, self.closing = AT_ONCE * count, False
        self._make, self._count, self._address, self._gpus = make, count, address, gpus
        self.name = f"salon-{os.getpid()}-{next(_numbers)}"
        self._entered = False
        self._turn = threading.Lock()
        self._heard: dict[str, ReplicaStatus] = {}
        self._calls: dict[int, float] = {}
        self._ids = itertools.count()
        self._deaths = 0
        self._handle: Any = None

    def start(self) -> list[Any]:
        """Wait until each has made its object; what is to be known of one of them."""
        _cluster.enter(self._address)
        self._entered = True
        try:
            self._handle = self._deploy()
            good, known = self._handle.known.remote().result(timeout_s=_START_SECONDS)
            if not good:
                raise unpack_error(*known)
            return [known]
        except BaseException:
            self.close()
            raise

    def _deploy(self) -> Any:
        resources = {"num_gpus": self._gpus, "num_cpus": 0 if self._address is None else 1}
        deployment = serve.deployment(_RayReplica).options(
            name="replica",
            num_replicas=self._count,
            max_ongoing_requests=AT_ONCE,
            graceful_shutdown_timeout_s=60.0,
            health_check_period_s=_HEALTH_SECONDS,
            ray_actor_options=resources,
        )
        app = deployment.bind(ray.cloudpickle.dumps(self._make))
        try:
            return serve.run(app, name=self.name, route_prefix=None)
        except RuntimeError as error:
            raise BadValue(
                "replicas that can start are needed",
                found=error,
                where="Ray",
                remedy="install Salon on its nodes",
            ) from None

    def call(self, task: Any, size: int = 1, attempts: int = 1) -> Any:
        """The answer of one of them; ReplicaDied when `attempts` of them died over it."""
        id = next(self._ids)
        self._calls[id] = time.monotonic()
        try:
            for attempt in itertools.count(1):
                try:
                    who, answer = self._handle.call.remote(task).result()
                except RayActorError as error:
                    self._deaths += 1
                    reason = (str(error).splitlines() or ["it died"])[0]
                    log.error("a replica on Ray ended: %s", reason)
                    if attempt >= attempts or self.closing:
                        raise ReplicaDied(
                            "a replica must live until it answers", found=reason, where="Ray",
                            remedy="if memory ran out, start fewer replicas on a machine",
                        ) from None  # fmt: skip
                    time.sleep(_PAUSE_SECONDS)  # its router hears of the death meanwhile
                except RayTaskError as error:
                    raise (error.cause if isinstance(error.cause, Exception) else error) from None
                else:
                    self._hear(who, size)
                    return answer
        finally:
            del self._calls[id]

    def _hear(self, who: dict[str, Any], size: int) -> None:
        with self._turn:
            before = self._heard.get(who["id"])
            answered = size + (0 if before is None else before.answered)
            self._heard.pop(who["id"], None)  # the last is the one that was heard last
            self._heard[who["id"]] = ReplicaStatus(
                number=0, place=who["node"], state="ready", pid=who["pid"], answered=answered, memory=who["memory"]
            )

    def status(self) -> list[ReplicaStatus]:
        """Those that run, as far as they were heard of; deaths are counted with the first."""
        running = self._running()
        with self._turn:
            heard = list(self._heard.values())[-running:] if running else []
        silent = [ReplicaStatus(number=number, place="Ray", state="ready") for number in range(len(heard), running)]
        waiting = [
            ReplicaStatus(number=number, place="Ray", state="stopped" if self.closing else "starting")
            for number in range(running, self._count)
        ]
        listed = [
            entry.model_copy(update={"number": number}) for number, entry in enumerate([*heard, *silent, *waiting])
        ]
        deaths = max(self._deaths, len(self._heard) - len(heard))
        counts = {"deaths": deaths, "under_way": len(self._calls)}
        return [listed[0].model_copy(update=counts), *listed[1:]]

    def _running(self) -> int:
        if self.closing:
            return 0
        try:
            states = serve.status().applications[self.name].deployments["replica"].replica_states
        except Exception:  # a cluster that is not there has no replicas, whatever it says
            return 0
        running = sum(int(count) for state, count in states.items() if str(state).endswith("RUNNING"))
        return min(self._count, running)

    def moves(self, seconds: float) -> bool:
        """Whether one at least runs and no call is older than `seconds`."""
        oldest = min(list(self._calls.values()), default=time.monotonic())
        return self._running() > 0 and time.monotonic() - oldest < seconds

    def close(self) -> None:
        """End them, after what is under way."""
        if self.closing:
            return
        self.closing = True
        if self._entered:
            with suppress(Exception):  # where the cluster is gone, so are they
                serve.delete(self.name)
            _cluster.leave()


class _Cluster:
    """Ray Serve without a proxy; a cluster of our own ends with the last who needs it."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._users = 0
        self._stack = ExitStack()

    def enter(self, address: str | None) -> None:
        with self._turn:
            if not self._users:
                with ExitStack() as stack:
                    stack.enter_context(open_cluster(address))
                    serve.start(proxy_location="Disabled", logging_config={"log_level": "ERROR"})
                    self._stack = stack.pop_all()
            self._users += 1

    def leave(self) -> None:
        with self._turn:
            self._users -= 1
            if not self._users:
                self._stack.close()


_cluster = _Cluster()


class _RayReplica:
    """One replica: makes its object once, and answers calls with it."""

    def __init__(self, packed: bytes) -> None:
        self._id = serve.get_replica_context().replica_id.unique_id
        self._function: Any = None
        try:
            self._function, known = ray.cloudpickle.loads(packed)()
            self._known = True, known
        except Exception as error:  # to be said: Serve would try again and again
            self._known = False, pack_error(error)

    def known(self) -> tuple[bool, Any]:
        """Whether it made its object, and what is to be known of it; or why it could not."""
        return self._known

    def call(self, task: Any) -> tuple[dict[str, Any], Any]:
        """Who answers, and the answer."""
        if self._function is None:  # started anew where it cannot be made any more: another may answer
            os._exit(1)
        answer = self._function(task)
        pid = os.getpid()
        return {"id": self._id, "pid": pid, "node": socket.gethostname(), "memory": resident_bytes(pid)}, answer
