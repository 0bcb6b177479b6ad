"""A study packed for downloading: written into a room of its own, zipped, and swept away when it was sent."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path

from starlette.background import BackgroundTask
from starlette.responses import FileResponse

from salon.collect.studio.studio import Studio
from salon.errors import BadFile, BadValue
from salon.store.export import EXPORTS
from salon.store.field_files import FIELD_FILES

FORMS = {
    "parquet": "Parquet tables: a study folder that every command takes.",
    "csv": "CSV tables, for a spreadsheet: no cell of them is run as a formula.",
    "jsonl": "JSON, one record on each line.",
    "huggingface": "A dataset for the Hugging Face hub, with its data card.",
    "hpdv2": "HPDv2: comparisons and rankings as JSON.",
    "hpdv3": "HPDv3: pairs, the preferred image first.",
    "pickapic": "Pick-a-Pic: its columns as Parquet.",
    "arena": "Votes as FastChat and LMSYS write them.",
    "preflib": "PrefLib ballots, one file for each group of items.",
}
"""What can be downloaded, and what it is."""


def packed(studio: Studio, to: str, *, images: bool = False) -> FileResponse:
    """The study as it stands now, as a zip; formats of the field say in LEFT-OUT.json what they could not hold."""
    if to not in (*EXPORTS, *FIELD_FILES):
        raise BadValue("a known form is needed", found=repr(to), remedy="one of " + ", ".join(FORMS))
    room = Path(tempfile.mkdtemp(prefix="salon-export-"))
    try:
        left_out = studio.export(room / "study", to, images=images, excel_safe=to == "csv")
        if left_out:
            (room / "study" / "LEFT-OUT.json").write_text(json.dumps(left_out, indent=2), encoding="utf-8")
        zipped = shutil.make_archive(str(room / "packed"), "zip", room / "study")
    except BadFile as error:  # its place is a folder of ours, of no use to anybody
        shutil.rmtree(room, ignore_errors=True)
        raise BadValue(error.needed, found=error.found) from None
    except BaseException:
        shutil.rmtree(room, ignore_errors=True)
        raise
    sweep = BackgroundTask(shutil.rmtree, room, ignore_errors=True)
    return FileResponse(zipped, media_type="application/zip", filename="study.zip", background=sweep)
