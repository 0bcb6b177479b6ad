"""The scoring service against its own schema, and a service that is killed while it answers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from scoring_server import Served, b64, png, serving

from salon.select import DecisionSettings, WatchedLog

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
EXAMPLES = 4
ROUTES = {"/v1/score", "/v1/compare", "/v1/pick", "/v1/gate", "/v1/explain", "/v1/feedback", "/v1/drift", "/v1/models",
          "/v1/models/load", "/v1/models/activate", "/v1/models/rollback"}  # fmt: skip


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    lots = {"session_burst": 10**6, "address_burst": 10**6, "failures_burst": 10**6}
    log = WatchedLog(DecisionSettings(folder=tmp_path_factory.mktemp("log"), sync=False))
    with serving(tmp_path_factory.mktemp("schema"), ("gray",), decisions=log, **lots) as made:
        yield made
    log.close()


@pytest.mark.parametrize("who", ["nobody", "all"])
@pytest.mark.parametrize("mode", GenerationMode)
def test_every_answer_is_one_that_the_schema_names(served: Served, mode: GenerationMode, who: str) -> None:
    schema = schemathesis.openapi.from_url(f"{served.url}/v1/openapi.json")
    routes = [one.ok() for one in schema.get_all_operations()]
    assert {one.path for one in routes} == ROUTES
    headers = {} if who == "nobody" else {"Authorization": f"Bearer {served.tokens[who]}"}
    said = set()
    for route in routes:
        if mode is GenerationMode.NEGATIVE and not route.body:
            continue  # nothing can be sent wrongly

        @settings(max_examples=EXAMPLES, derandomize=True, suppress_health_check=list(HealthCheck))
        @given(case=route.as_strategy(generation_mode=mode))
        def asked(case) -> None:
            response = case.call(headers=headers)
            case.validate_response(response, checks=CHECKS, headers=headers)
            said.add(response.status_code)

        asked()
    assert (401 if who == "nobody" else 422) in said, said
    assert who != "nobody" or 200 not in said


def test_the_schema_shows_an_example_that_works(served: Served) -> None:
    with served.client() as client:
        schema = client.get("/v1/openapi.json").json()
        content = schema["paths"]["/v1/score"]["post"]["requestBody"]["content"]["application/json"]
        example = content["examples"]["two pictures"]["value"]
        assert client.post("/v1/score", json=example).status_code == 200
    assert schema["security"] == [{"token": []}]
    told = set(schema["paths"]["/v1/score"]["post"]["responses"])
    assert {"200", "401", "403", "413", "422", "429", "503", "504"} <= told


STEM = """
import os, sys, threading
import scoring_server
from salon.cli.serve_scores import serve_scores
from salon.select.service import model as scoring_model

scoring_model.make_scorer = scoring_server._named(scoring_server.Watched([], threading.Event()))

def end_with_the_test():
    sys.stdin.read(1)
    os._exit(1)

for line in sys.stdin:
    child = os.fork()
    if not child:
        print(f"child {os.getpid()}", flush=True)  # by the one who prints the rest, so that no line meets another
        threading.Thread(target=end_with_the_test, daemon=True).start()
        serve_scores(sys.argv[1:])
    os.waitpid(child, 0)
"""


def test_killed_while_it_answers_the_service_starts_again_and_knows_its_tokens(tmp_path: Path) -> None:
    """`held` waits for ever here: the kill comes while a request is with the scorer."""
    folder = tmp_path / "service"
    command = [sys.executable, "-W", "ignore", "-c", STEM, "-s", "held", "-s", "gray", "--port", "0", "--json",
               "--folder", str(folder), "--log", str(tmp_path / "log")]  # fmt: skip
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parent.parent), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment) as stem:
        try:
            child, told = _started(stem)
            headers = {"Authorization": f"Bearer {told['token']}"}
            failed: list[Exception] = []
            asking = threading.Thread(target=_ask_until_it_breaks, args=(told["address"], headers, failed))
            asking.start()
            time.sleep(0.3)
            os.kill(child, signal.SIGKILL)
            asking.join()
            assert len(failed) == 1
            _, again = _started(stem)
            assert again["token"] is None  # made once, kept as a hash, still good
            answer = httpx2.get(f"{again['address']}/v1/models", headers=headers, timeout=60)
            assert answer.status_code == 200
            assert answer.json()["active"] == told["version"]
            left = sorted(path.name for path in folder.iterdir())
            assert left == ["tokens.json", "tokens.lock"]
        finally:
            stem.stdin.close()
            stem.wait(60)


def _started(stem: subprocess.Popen[str]) -> tuple[int, dict]:
    stem.stdin.write("start\n")
    stem.stdin.flush()
    child, text = 0, ""
    while not child or not text.rstrip().endswith("}"):
        line = stem.stdout.readline()
        assert line, "the service did not start"
        if line.startswith("child "):
            child = int(line.split()[1])
        else:
            text += line
    told = json.loads(text)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            httpx2.get(f"{told['address']}/healthz")
            return child, told
        except httpx2.TransportError:
            time.sleep(0.05)
    raise AssertionError("the service does not answer")


def _ask_until_it_breaks(address: str, headers: dict, failed: list) -> None:
    try:
        httpx2.post(f"{address}/v1/score", headers=headers, json={"images": [b64(png(50))]}, timeout=60)
    except httpx2.TransportError as error:
        failed.append(error)
