"""`salon serve-scores`: serve scores over HTTP, and manage the tokens of the service."""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from salon.cli.console import json_option, print_json, print_table, say
from salon.cli.options import options_from, settings_from, trusted_proxy_option
from salon.errors import InputError
from salon.judge import RaterSettings, ScoreSettings
from salon.select import LOCAL_RAY, DecisionSettings, ServiceSettings
from salon.web.scoring.settings import PROTOCOLS, SCOPES, ScoringSettings

if TYPE_CHECKING:
    from salon.select import Gate, Neighborhood, ScoringModel, WatchedLog

LIMITS = ("most_upload", "most_picture", "most_pixels", "most_images", "most_at_once", "most_bytes_at_once",
          "body_seconds", "session_rate", "session_burst", "address_rate", "address_burst")  # fmt: skip

TRAINING_LIMITS = {"most_upload": 1 << 30, "most_bytes_at_once": 4 << 30, "most_images": 4096, "body_seconds": 300.0,
                   "queue": 16_384, "deadline": 600.0}  # fmt: skip
"""Limits that fit the batches of a trainer: with --speak, where nobody set others."""
ENDPOINT = ("key_env", "allow_http", "concurrency", "per_minute", "prices", "budget", "calls", "field")
"""The terms of scorers at endpoints: chat:FILE@ENDPOINT."""


@click.command("serve-scores")
@click.option(
    "-s",
    "--scorer",
    "scorers",
    multiple=True,
    metavar="NAME",
    help="A scorer; salon score --list names them (repeatable).",
)
@click.option(
    "--model", "models", multiple=True, metavar="FOLDER", help="A trained model, with all its criteria (repeatable)."
)
@click.option("--name", default="model", show_default=True, help="What to call them together.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8100, show_default=True, help="Port; 0 takes a free one."
)
@click.option("--base-url", metavar="URL", help="Address that people open, without a path.")
@trusted_proxy_option
@click.option(
    "--folder", type=click.Path(path_type=Path, file_okay=False), default=Path(".salon-scores"), show_default=True,
    help="Folder of the service: hashes of its tokens.",
)  # fmt: skip
@click.option("--no-token", is_flag=True, help="Let everybody on this machine in; only on a loopback address.")
@click.option(
    "--speak", metavar="PROTOCOL,...", help=f"Also answer trainers in their own protocols: {', '.join(PROTOCOLS)}."
)
@click.option("--reward-weights", metavar="WEIGHTS",
              help="With --speak: weights of criteria in a trainer's reward, such as mood=3,words=1.")  # fmt: skip
@click.option("--trusted-network", "trusted_networks", multiple=True, metavar="CIDR",
              help="DANGER: machines of this network need no token to ask for scores (repeatable).")  # fmt: skip
@click.option("--root", "roots", multiple=True, type=click.Path(path_type=Path, file_okay=False),
              help="Pictures below this folder may be named by path (repeatable).")  # fmt: skip
@click.option("--model-root", type=click.Path(path_type=Path, file_okay=False),
              help="Models and released scorers below this folder may be loaded over HTTP.")  # fmt: skip
@click.option("--reference", type=click.Path(path_type=Path, dir_okay=False),
              help="Frozen reference by which criteria on different scales are added.")  # fmt: skip
@click.option("--gate", "gates", multiple=True, type=click.Path(path_type=Path, dir_okay=False),
              help="A gate made by salon select gate, served under the file's name (repeatable).")  # fmt: skip
@click.option("--log", "log_folder", type=click.Path(path_type=Path, file_okay=False), help="Keep every decision here.")
@options_from(DecisionSettings, only=("keep_prompt",))
@click.option("--drift-reference", type=click.Path(path_type=Path, dir_okay=False),
              help="With --log: reference of the drift watch  [default: the log's first decisions]")  # fmt: skip
@click.option("--study", type=click.Path(path_type=Path, file_okay=False),
              help="Study with judgments: explanations name its pictures near the first --model.")  # fmt: skip
@click.option("--add-token", metavar="NAME", help="Only make a token, and show it once.")
@click.option("--scope", "scopes", multiple=True, type=click.Choice(SCOPES),
              help="With --add-token: what it may do (repeatable)  [default: score]")  # fmt: skip
@click.option("--revoke-token", metavar="NAME", help="Only end a token.")
@click.option("--tokens", "list_tokens", is_flag=True, help="Only list the tokens by name.")
@options_from(ScoreSettings, only=("text", "device", "rl_step"))
@options_from(RaterSettings, only=ENDPOINT)
@options_from(ServiceSettings, only=tuple(name for name in ServiceSettings.model_fields if name != "ray"))
@click.option("--ray", is_flag=False, flag_value=LOCAL_RAY, metavar="[ADDRESS]",
              help="Run the replicas on Ray Serve: on the cluster at ADDRESS, or one of this machine.")  # fmt: skip
@options_from(ScoringSettings, only=LIMITS)
@json_option
def serve_scores(as_json: bool, **flags: Any) -> None:
    """Serve scores over HTTP: score, compare, pick the best, gate, explain; requests are looked at in batches.

    Pictures come as files of a form, as base64, or as paths below a --root; nothing is ever fetched from an address.
    The first start makes a token and shows it once. docs/guide/scoring-service.md has the routes and the clients.

    \b
      salon serve-scores --model taste-heads
      salon serve-scores -s contrast -s balance --no-token
      salon serve-scores --add-token shop --scope score
      salon serve-scores -s hpsv3:weights/hpsv3 --speak flow-grpo,flow-factory
      salon serve-scores -s hpsv3:weights/hpsv3 --devices cuda:0,cuda:1,cuda:2,cuda:3
      salon serve-scores --model taste-heads --host 0.0.0.0 --base-url https://scores.example.org --log decisions
    """
    from salon.judge import RaterSettings
    from salon.select import LoadOrder, ScoringService, read_reference
    from salon.web.scoring.access import check_scoring_settings
    from salon.web.scoring.app import create_scoring_app
    from salon.web.server import listen, serve_app

    if flags["add_token"] or flags["revoke_token"] or flags["list_tokens"]:
        _change_tokens(flags, as_json)
        return
    if not flags["scorers"] and not flags["models"]:
        raise click.UsageError("at least one --scorer or --model is needed; salon score --list names them")
    flags["speak"] = tuple(filter(None, (name.strip() for name in (flags["speak"] or "").split(","))))
    if flags["speak"]:
        _fit_training(flags)
    web = check_scoring_settings(settings_from(ScoringSettings, flags | {"roots": tuple(flags["roots"])}))
    order = LoadOrder(name=flags["name"], scorers=flags["scorers"], models=flags["models"])
    serving = settings_from(ServiceSettings, flags)
    scoring = ScoreSettings(text=flags["text"], device=flags["device"], rl_step=flags["rl_step"], batch=serving.batch,
                            rater=settings_from(RaterSettings, {name: flags[name] for name in ENDPOINT}))  # fmt: skip
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # threads that wait for each other leave the cores to others
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s")
    with ExitStack() as stack:
        listening = stack.enter_context(listen(web.host, web.port))
        web = web.model_copy(update={"port": listening.getsockname()[1]})
        service = ScoringService(serving, scoring)
        stack.callback(service.end)
        opened = service.open(order)
        app = create_scoring_app(
            service, web, decisions=_open_log(flags, stack), neighbourhood=_neighbourhood(flags),
            reference=None if flags["reference"] is None else read_reference(flags["reference"]),
            gates=_gates(flags["gates"], opened),
        )  # fmt: skip
        _print_served(web, opened.version, [criterion.criterion for criterion in opened.criteria], as_json)
        serve_app(app, web, listening, graceful=math.ceil(serving.deadline))


def _fit_training(flags: dict[str, Any]) -> None:
    """Limits for batches of a trainer, in place of defaults that nobody changed."""
    context = click.get_current_context()
    for name, value in TRAINING_LIMITS.items():
        if context.get_parameter_source(name) is ParameterSource.DEFAULT:
            flags[name] = value


def _gates(files: Sequence[Path], model: ScoringModel) -> dict[str, Gate]:
    """Gates by the names of their files; each must fit a criterion that is served."""
    from salon.select import read_gate
    from salon.web.scoring.routes import gate_criterion

    gates = {path.stem: read_gate(path) for path in files}
    if len(gates) < len(files):
        raise InputError("gates in files of different names are needed", found="a name twice")
    for gate in gates.values():
        gate_criterion(gate, model)
    return gates


def _open_log(flags: dict[str, Any], stack: ExitStack) -> WatchedLog | None:
    from salon.select import WatchedLog, read_drift_reference

    if flags["log_folder"] is None:
        if flags["drift_reference"] is not None:
            raise InputError("--drift-reference goes with --log", found="no --log")
        return None
    file = flags["drift_reference"]
    settings = DecisionSettings(folder=flags["log_folder"], keep_prompt=flags["keep_prompt"])
    log = WatchedLog(settings, reference=None if file is None else read_drift_reference(file))
    stack.callback(log.close)
    return log


def _neighbourhood(flags: dict[str, Any]) -> Neighborhood | None:
    from salon.select import open_neighborhood

    if flags["study"] is None:
        return None
    if not flags["models"]:
        raise InputError("--study goes with --model: neighbours are found by a model's vectors", found="no --model")
    return open_neighborhood(flags["study"], Path(flags["models"][0]), device=flags["device"])


def _print_served(web: ScoringSettings, version: str, criteria: Sequence[str], as_json: bool) -> None:
    from salon.web.scoring.access import new_token, read_tokens

    token = None
    if not web.no_token and not read_tokens(web.folder):
        token = new_token(web.folder, "first", SCOPES)
    for network in web.trusted_networks:
        say(f"WARNING: every machine of {network} may ask for scores WITHOUT A TOKEN (--trusted-network)", err=True)
    if as_json:
        print_json({"address": web.address, "version": version, "criteria": criteria, "token": token})
        return
    say(f"scores of version {version} at {web.address}: {', '.join(criteria)}")
    if token is not None:
        say("the first token, shown once, good for everything:")
        say(f"  {token}")
    say(f"a page to try it: {web.address}/; what can be asked: {web.address}/v1/openapi.json", dim=True)
    if web.speak:
        say(f"trainers are answered in the protocols of {', '.join(web.speak)}: docs/guide/trainers.md")
    if web.no_token:
        say("no token is asked for: everybody on this machine may ask", dim=True)


def _change_tokens(flags: dict[str, Any], as_json: bool) -> None:
    from salon.web.scoring.access import new_token, read_tokens, revoke_token

    folder: Path = flags["folder"]
    actions = [name for name in ("add_token", "revoke_token", "list_tokens") if flags[name]]
    if len(actions) > 1:
        raise InputError("one of --add-token, --revoke-token and --tokens is needed", found="several")
    if flags["revoke_token"]:
        revoke_token(folder, flags["revoke_token"])
        _print_record({"revoked": flags["revoke_token"]}, f"the token {flags['revoke_token']!r} ends now", as_json)
    elif flags["add_token"]:
        scopes = tuple(flags["scopes"]) or ("score",)
        token = new_token(folder, flags["add_token"], scopes)
        record = {"name": flags["add_token"], "scopes": scopes, "token": token}
        _print_record(record, f"shown once, for {', '.join(scopes)}:\n  {token}", as_json)
    else:
        tokens = read_tokens(folder)
        if as_json:
            print_json({"tokens": [token.model_dump(mode="json", exclude={"sha256"}) for token in tokens]})
            return
        rows = [(token.name, ", ".join(token.scopes), token.made_at) for token in tokens]
        print_table(None, ("token", "scopes", "made"), rows, left=(0, 1, 2))


def _print_record(record: dict[str, Any], text: str, as_json: bool) -> None:
    print_json(record) if as_json else say(text)
