"""The answer of an item, read by the parser of its kind. The last statement binds; nothing is guessed."""

from __future__ import annotations

from salon.bench.posters.answers_boxes import Convention, read_boxes
from salon.bench.posters.answers_choice import read_label, read_letter
from salon.bench.posters.answers_lists import prompt_menu, read_effects
from salon.bench.posters.answers_numbers import read_patches, read_rating
from salon.bench.posters.answers_said import Read, Unread, said
from salon.bench.posters.answers_text import read_text, read_texts
from salon.bench.posters.item import PosterItem
from salon.store.pictures import size_within

__all__ = ["Read", "Unread", "read_answer"]


def read_answer(item: PosterItem, boxes: Convention = "share", shown_pixels: int | None = None) -> Read | Unread:
    """What the item's response says: a value of the kind its task asks for, or why there is none.

    Boxes in pixels are those of the picture as it was shown, made smaller to `shown_pixels` where it has more.
    """
    match item.task.answer:
        case "text":
            return read_text(item.response)
        case "texts" | "lines":
            return read_texts(item.response)
        case "letter":
            return read_letter(item.response, item.task.options)
        case "label":
            return read_label(item.response, item.task.options)
        case "effects":
            return read_effects(item.response, prompt_menu(item.prompt))
        case "boxes" | "layout":
            size = item.size or (1, 1)
            shown = size if shown_pixels is None else size_within(*size, shown_pixels)
            return read_boxes(item.response, boxes, shown)
        case "patches":
            return read_patches(item.response)
        case "rating":
            return read_rating(item.response)
    text = said(item.response)
    return text if isinstance(text, Unread) else Read(text)
