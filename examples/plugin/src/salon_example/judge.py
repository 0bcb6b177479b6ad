"""A judge: of two pictures the redder one is better."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from PIL import Image

from salon.judge import Conversation, NoReply, Reply
from salon_example.scorer import redness


class Redder:
    """Answers comparisons; other questions stay without a reply."""

    name = "redder"

    def reply(self, conversations: Iterable[Conversation]) -> Iterator[tuple[int, Reply | NoReply]]:
        for index, conversation in enumerate(conversations):
            yield index, self._answer(conversation)

    def _answer(self, conversation: Conversation) -> Reply | NoReply:
        if len(conversation.sights) != 2:
            return NoReply(kind="refused", reason="two pictures are needed")
        try:
            values = []
            for sight in conversation.sights:
                with Image.open(sight.path) as image:
                    values.append(redness(image))
        except OSError as error:
            return NoReply(kind="broken-image", reason=str(error))
        return Reply(text=json.dumps({"verdict": "A" if values[0] >= values[1] else "B"}))
