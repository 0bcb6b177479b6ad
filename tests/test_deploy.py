"""The files under deploy/: pinned by hash, parsed without a daemon, and their commands run as they stand there."""

from __future__ import annotations

import ipaddress
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from loaded import start_salon
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from salon.cli.main import salon as program
from salon.store import save_study
from salon.study import Criterion, Item, Prompt, Study

ROOT = Path(__file__).parent.parent
DEPLOY = ROOT / "deploy"
GUIDE = ROOT / "docs" / "guide" / "deploy.md"
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
STUDIO = COMPOSE["services"]["studio"]
HOST = "studio.example.org"


# -- requirements --------------------------------------------------------------------------------------------------


def pinned(path: Path) -> dict[str, tuple[str, int]]:
    """Version and number of SHA-256 hashes of every package in a hashed file; any other line is a failure."""
    found: dict[str, tuple[str, int]] = {}
    for line in path.read_text().replace("\\\n", " ").splitlines():
        name, *hashes = line.split()
        match = re.fullmatch(r"([a-z0-9.-]+)==([0-9][^=]*)", name)
        assert match, line
        assert hashes, f"{name} has no hash"
        assert all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", one) for one in hashes), name
        found[canonicalize_name(match[1])] = match[2], len(hashes)
    return found


def test_requirements_are_two_extras_and_nothing_heavier() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    packages = pinned(DEPLOY / "requirements.txt")
    extras = project["project"]["optional-dependencies"]
    needed = project["project"]["dependencies"] + extras["serve"] + extras["objects"]
    for wanted in map(Requirement, needed):
        version, _ = packages[canonicalize_name(wanted.name)]
        assert version in wanted.specifier, f"{wanted}: {version}; compile deploy/requirements.txt again"
    assert not packages.keys() & {"pandas", "torch", "transformers", "onnxruntime"}
    build = pinned(DEPLOY / "build-requirements.txt")
    assert all(canonicalize_name(Requirement(one).name) in build for one in project["build-system"]["requires"])


@pytest.mark.parametrize("file", ["requirements.txt", "build-requirements.txt"])
def test_requirements_hold_the_versions_that_are_tested(file: str) -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    tested = {canonicalize_name(line.split("==")[0]): line.split("==")[1] for line in lines if "==" in line}
    packages = pinned(DEPLOY / file)
    assert {name: version for name, (version, _) in packages.items() if tested.get(name, version) != version} == {}


# -- Containerfile -------------------------------------------------------------------------------------------------


def instructions() -> list[tuple[str, str]]:
    """(instruction, arguments) of the Containerfile, comments gone and continued lines joined."""
    lines = [line for line in (DEPLOY / "Containerfile").read_text().splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", " ", "\n".join(lines)).split("\n")
    return [(line.split()[0], line.split(None, 1)[1]) for line in joined if line.strip()]


def test_containerfile_is_well_formed() -> None:
    steps = instructions()
    known = {"FROM", "WORKDIR", "COPY", "RUN", "ENV", "USER", "EXPOSE", "ENTRYPOINT", "CMD"}
    assert {name for name, _ in steps} <= known
    assert steps[0][0] == "FROM"
    for image in (rest.split()[0] for name, rest in steps if name == "FROM"):
        assert re.search(r":\d", image), f"{image} has no version"
    last = next(at for at in range(len(steps) - 1, -1, -1) if steps[at][0] == "FROM")
    users = [rest for name, rest in steps[last:] if name == "USER"]
    assert users, "the studio must not run as root"
    assert users[-1].isdigit()
    assert users[-1] != "0"
    assert f"--uid {users[-1]}" in " ".join(rest for name, rest in steps[last:] if name == "RUN")
    for name, rest in steps:
        if name in ("ENTRYPOINT", "CMD"):
            assert isinstance(json.loads(rest), list), "exec form: signals must reach the studio"
        assert "PASSWORD" not in rest


def test_containerfile_installs_by_hash_only() -> None:
    runs = [shlex.split(part) for name, rest in instructions() if name == "RUN" for part in rest.split("&&")]
    installs = [words for words in runs if "install" in words and words[0].endswith("pip")]
    assert len(installs) == 3
    for words in installs:
        assert "--require-hashes" in words or {"--no-deps", "--no-index"} <= set(words), words
    assert all({"--no-deps", "--no-build-isolation"} <= set(words) for words in runs if "wheel" in words)


def test_containerfile_copies_what_is_there_and_sent() -> None:
    sent = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    for name, rest in instructions():
        if name != "COPY" or "--from=build" in rest:
            continue
        for source in [word for word in rest.split() if not word.startswith("--")][:-1]:
            assert (ROOT / source).exists(), source
            assert any(Path(source).match(one) or one.startswith(f"{source}/") for one in sent), source


# -- compose -------------------------------------------------------------------------------------------------------


def test_compose_names_only_what_it_defines() -> None:
    services = COMPOSE["services"]
    assert services.keys() == {"studio", "db", "store", "proxy"}
    for name, service in services.items():
        assert set(service["networks"]) <= COMPOSE["networks"].keys(), name
        assert set(service.get("depends_on", ())) <= services.keys(), name
        assert set(service.get("secrets", ())) <= COMPOSE["secrets"].keys(), name
        for volume in service.get("volumes", ()):
            source = re.sub(r"\$\{[^}]*\}", "./study", volume).split(":")[0]
            assert source.startswith("./") or source in COMPOSE["volumes"], volume
        assert "build" in service or re.search(r":\d", service["image"]), f"{name} has no version"
    build = STUDIO["build"]
    assert (DEPLOY / build["context"] / build["dockerfile"]).resolve() == DEPLOY / "Containerfile"


def test_only_the_proxy_is_reachable_and_believed() -> None:
    services = COMPOSE["services"]
    assert [name for name, service in services.items() if "ports" in service] == ["proxy"]
    assert [name for name, network in COMPOSE["networks"].items() if not network.get("internal")] == ["outside"]
    address = services["proxy"]["networks"]["inside"]["ipv4_address"]
    subnet = COMPOSE["networks"]["inside"]["ipam"]["config"][0]["subnet"]
    assert ipaddress.ip_address(address) in ipaddress.ip_network(subnet)
    flags = parsed(words_of_studio())
    assert flags["trusted_proxies"] == (address,)
    caddy = (DEPLOY / "Caddyfile").read_text()
    assert f"reverse_proxy studio:{flags['port']}" in caddy
    assert "header_up X-Forwarded-For {remote_host}" in caddy
    assert caddy.count("{") == caddy.count("}")
    assert not {"data", "pictures"} & set(services["proxy"]["networks"])
    assert [name for name, service in services.items() if "pictures" in service["networks"]] == ["studio", "store"]


def test_no_secret_stands_in_the_files() -> None:
    for service in COMPOSE["services"].values():
        for key, value in service.get("environment", {}).items():
            assert not re.search(r"PASSWORD|SECRET|TOKEN", key) or key.endswith("_FILE"), key
            assert not re.search(r"://[^/@]*:[^/@]*@", value), key
    assert {"/deploy/.env", "/deploy/secrets/"} <= set((ROOT / ".gitignore").read_text().splitlines())


def words_of_studio() -> list[str]:
    """The studio's command, with the host put in."""
    return [re.sub(r"\$\{STUDIO_HOST[^}]*\}", HOST, word) for word in STUDIO["command"]]


def parsed(words: list[str]) -> dict[str, Any]:
    """The values of a `salon` command's arguments; a usage error where the command line would raise one."""
    context = click.Context(program)
    command = program.get_command(context, words[0])
    assert command is not None, words[0]
    return command.make_context(words[0], words[1:], parent=context).params


def guide_commands() -> Iterator[list[str]]:
    """Every `salon` command of the guide, however it is started."""
    for block in re.findall(r"^```(?:sh|ini)\n(.*?)^```", GUIDE.read_text(), re.M | re.S):
        for line in re.sub(r"\\\n\s*", " ", block).splitlines():
            words = shlex.split(line.removeprefix("ExecStart="), comments=True)
            at = [k for k, word in enumerate(words) if word.endswith("bin/salon") or (word == "salon" and k == 0)]
            if words[:3] == ["docker", "compose", "run"]:
                at = [words.index("studio")]
            if at and len(words) > at[0] + 1:
                yield words[at[0] + 1 :]


def test_every_command_is_understood() -> None:
    commands = [words_of_studio(), *guide_commands()]
    assert {words[0] for words in commands} >= {"serve", "invite", "backup", "restore"}
    for words in commands:
        assert parsed(words), words


def test_the_guide_installs_by_hash() -> None:
    installs = [line for line in GUIDE.read_text().splitlines() if "pip install" in line and "/srv" in line]
    assert installs
    for line in installs:
        assert "--require-hashes" in line or {"--no-deps", "--no-build-isolation"} <= set(line.split()), line
    for file in re.findall(r"/srv/salon/code/(\S+\.txt)", " ".join(installs)):
        assert (ROOT / file).is_file(), file


# -- what the files run --------------------------------------------------------------------------------------------


def test_the_password_comes_from_its_file(tmp_path: Path) -> None:
    fake = tmp_path / "bin" / "salon"
    fake.parent.mkdir()
    fake.write_text('#!/bin/sh\necho "${PGPASSWORD-none}|$*"\n')
    fake.chmod(0o755)
    (tmp_path / "password").write_text("p@ss:w/ord $HOME\n")
    env = {"PATH": f"{fake.parent}:{os.environ['PATH']}"}
    entry = ["sh", str(DEPLOY / "entrypoint.sh"), "status", "a b"]
    with_file = env | {"SALON_DB_PASSWORD_FILE": str(tmp_path / "password")}
    assert subprocess.check_output(entry, env=with_file, text=True) == "p@ss:w/ord $HOME|status a b\n"
    assert subprocess.check_output(entry, env=env, text=True) == "none|status a b\n"
    without = env | {"SALON_DB_PASSWORD_FILE": str(tmp_path / "absent")}
    assert subprocess.run(entry, env=without, capture_output=True).returncode != 0


def test_the_health_check_asks_the_studio_that_the_command_starts(tmp_path: Path) -> None:
    items = [Item(id=f"i{k}", prompt="p", image=f"images/{k}.png") for k in range(2)]
    tables = {"prompts": [Prompt(id="p", text="A cat")], "items": items}
    save_study(Study.build("small", [Criterion(id="overall")], tables=tables), tmp_path / "study")
    words = words_of_studio()
    port = words[words.index("--port") + 1]
    words[words.index("--port") + 1] = "0"
    words[words.index("/study")] = str(tmp_path / "study")
    words[words.index("--host") + 1] = "127.0.0.1"
    kind, python, flag, code = STUDIO["healthcheck"]["test"]
    assert (kind, python, flag) == ("CMD", "python", "-c")
    assert code.count(f"127.0.0.1:{port}/") == 1

    def healthy(at: int, host: str) -> bool:
        asked = [sys.executable, "-c", code.replace(f":{port}/", f":{at}/")]
        return subprocess.run(asked, env=os.environ | {"STUDIO_HOST": host}, capture_output=True).returncode == 0

    with start_salon(*words) as server:
        try:
            server.stdout.readline()
            listening = listening_port(server.pid)
            assert healthy(listening, HOST)
            assert not healthy(listening, "elsewhere.example.org")
        finally:
            server.kill()
    assert not healthy(listening, HOST)


def listening_port(pid: int) -> int:
    """The TCP port that a process listens on."""
    sockets = {os.readlink(one) for one in Path(f"/proc/{pid}/fd").iterdir() if one.is_symlink()}
    for row in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = row.split()
        if fields[3] == "0A" and f"socket:[{fields[9]}]" in sockets:
            return int(fields[1].split(":")[1], 16)
    raise AssertionError("the studio does not listen")
