"""The API against its own schema: whatever a stranger, a rater or an owner sends, it answers as it says it does."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import schemathesis
from doors import Served, served
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
HOST = {"Host": "localhost"}
EXAMPLES = 8
"""For each route, for each of valid and invalid, for each of the three who ask."""


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    lots = {"session_burst": 10**6, "address_burst": 10**6, "failures_burst": 10**6}
    with served(tmp_path_factory.mktemp("schema"), **lots) as made:
        yield made


@pytest.fixture(scope="module")
def routes(door: Served) -> list:
    schema = schemathesis.openapi.from_asgi("/api/openapi.json", door.app, headers=HOST)
    found = [one.ok() for one in schema.get_all_operations()]
    assert len(found) == 11
    return found


@pytest.mark.parametrize("who", ["nobody", "zoe", "owner"])
@pytest.mark.parametrize("mode", GenerationMode)
def test_every_answer_is_one_that_the_schema_names(door: Served, routes: list, mode: GenerationMode, who: str) -> None:
    headers = HOST | ({} if who == "nobody" else {"Authorization": f"Bearer {getattr(door, who)}"})
    said = set()
    for route in routes:
        if mode is GenerationMode.NEGATIVE and not (route.body or route.query or route.path_parameters):
            continue  # nothing can be sent wrongly

        @settings(max_examples=EXAMPLES, derandomize=True, suppress_health_check=list(HealthCheck))
        @given(case=route.as_strategy(generation_mode=mode))
        def asked(case) -> None:
            if mode is GenerationMode.POSITIVE:
                _make_real(case, door)
            response = case.call(headers=headers)
            case.validate_response(response, checks=CHECKS, headers=headers)
            said.add(response.status_code)

        asked()
    assert said & WANTED[mode, who] == WANTED[mode, who], said
    assert who != "nobody" or 200 not in said


WANTED = {
    (GenerationMode.POSITIVE, "nobody"): {401},
    (GenerationMode.POSITIVE, "zoe"): {200, 403, 422},
    (GenerationMode.POSITIVE, "owner"): {200, 403},
    (GenerationMode.NEGATIVE, "nobody"): {401},
    (GenerationMode.NEGATIVE, "zoe"): {422},
    (GenerationMode.NEGATIVE, "owner"): {422},
}
"""What must have been heard, for the test to have tried anything."""


def _make_real(case, door: Served) -> None:
    """Names that the studio knows instead of made-up ones, so that more than "unknown" is answered."""
    if "task" in case.path_parameters:
        case.path_parameters["task"] = getattr(door.studio.next(door.names["zoe"]), "id", 1)
    if isinstance(case.body, dict) and "cohort" in case.body:
        case.body |= {"cohort": "designers", "count": 2}
    if isinstance(case.body, dict) and "do" in case.body:
        case.body["rater"] = door.studio.invite("designers")[0].rater
    if isinstance(case.body, dict) and "answers" in case.body:
        case.body["answers"] = {"overall": case.body["answers"].popitem()[1]} if case.body["answers"] else {}
