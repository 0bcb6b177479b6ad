"""A study in a form for others, from which `open_study` reads back the identical study."""

from __future__ import annotations

from salon.errors import InputError
from salon.store import data_card
from salon.store.folder import Place, write_folder
from salon.study import Study

EXPORTS = ("parquet", "csv", "jsonl", "huggingface")


def export_study(
    study: Study,
    path: Place,
    to: str = "parquet",
    *,
    overwrite: bool = False,
    images: Place | None = None,
    excel_safe: bool = False,
) -> None:
    """Write `study` as a folder of Parquet, CSV or JSONL tables, or as a dataset folder for the Hugging Face hub.

    `images` names the study folder whose images are copied along. `excel_safe` puts an apostrophe before the cells of
    CSV tables that a spreadsheet would run as formulas; the study read back is the same.
    """
    if excel_safe and to != "csv":
        raise InputError("excel_safe is for CSV tables", found=f"to={to!r}", remedy="to='csv', or leave it out")
    if to not in EXPORTS:
        raise InputError(f"an export is one of {', '.join(EXPORTS)}", found=repr(to))
    if to != "huggingface":
        write_folder(study, path, form=to, overwrite=overwrite, images=images, excel_safe=excel_safe)
        return
    card = {data_card.FILE: data_card.card(study)}
    write_folder(study, path, form="parquet", overwrite=overwrite, images=images, inner="data", texts=card)
