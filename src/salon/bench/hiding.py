"""Making prompts of a draft private: their texts and points leave the suite's folder for its keeper's file."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from salon.bench.private_prompts import PrivateText, hide, read_kept
from salon.bench.suite import Suite
from salon.bench.suite_folder import POINTS, PROMPTS, hashed, open_suite, suite_texts
from salon.bench.suite_records import read_text
from salon.errors import BadFile
from salon.store.atomic import whole_file, whole_folder


def hide_prompts(folder: Path, prompts: Iterable[str], keeper: Path) -> Suite:
    """Hide prompts of the draft in `folder`; `keeper` is added to before the folder forgets them.

    Killed in between, the texts stand in both places, and the same call goes on with the salts that are kept.
    """
    suite = open_suite(folder)
    if suite.frozen:
        raise BadFile("a suite that is not frozen is needed", found="a frozen one", where=str(folder),
                      remedy=f"salon bench new COPY --from {folder}, and hide them there")  # fmt: skip
    if keeper.resolve().is_relative_to(folder.resolve()):
        raise BadFile("a file outside the suite's folder is needed for what nobody may see", found=str(keeper),
                      remedy=f"name it {folder.name}.private.jsonl, beside the folder")  # fmt: skip
    before = read_kept(keeper) if keeper.exists() else {}
    made, kept = hide(suite, prompts, before)
    _keep([one for one in kept if one.id not in before], keeper)
    _rewrite(hashed(made), folder)
    return hashed(made)


def _keep(kept: Iterable[PrivateText], path: Path) -> None:
    before = read_text(path) if path.exists() else ""
    before += "" if before.endswith("\n") or not before else "\n"
    lines = [json.dumps(one.record(), ensure_ascii=False) + "\n" for one in kept]
    with whole_file(path) as file:
        os.chmod(file.name, 0o600)  # before there is a word in it
        file.write((before + "".join(lines)).encode())


def _rewrite(suite: Suite, folder: Path) -> None:
    """Both files at once; everything else in the folder, comments too, stays as it was written."""
    texts = suite_texts(suite)
    with whole_folder(folder.resolve()) as new:
        shutil.copytree(folder, new, dirs_exist_ok=True)
        for name in (PROMPTS, POINTS):
            with whole_file(new / name) as file:
                file.write(texts[name].encode())
