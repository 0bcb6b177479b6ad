"""The sentences of the pages: those of collecting, and those that only a browser needs."""

from __future__ import annotations

from salon.collect.language import Words

_MORE = {
    "en": {
        "page.more": "More",
        "page.skip": "I cannot answer",
        "page.not_shown": "No picture",
        "withdraw.menu": "Withdraw from the study",
        "withdraw.title": "Withdraw from the study?",
        "withdraw.words": "Your answers will no longer be used, and your link ends. This cannot be taken back here.",
        "withdraw.confirm": "Withdraw",
        "withdraw.back": "Go on with the study",
        "rank.pair": "Question {number} of at most {most}",
        "rank.ordinal": "Place",
    },
    "de": {
        "page.more": "Mehr",
        "page.skip": "Ich kann nicht antworten",
        "page.not_shown": "Kein Bild",
        "withdraw.menu": "Von der Studie zurücktreten",
        "withdraw.title": "Von der Studie zurücktreten?",
        "withdraw.words": "Ihre Antworten werden nicht mehr verwendet, und Ihr Link endet. "
        "Das lässt sich hier nicht rückgängig machen.",
        "withdraw.confirm": "Zurücktreten",
        "withdraw.back": "Mit der Studie weitermachen",
        "rank.pair": "Frage {number} von höchstens {most}",
        "rank.ordinal": "Platz",
    },
}


class PageWords(Words):
    """Sentences of one language, by key."""

    def __init__(self, language: str) -> None:
        super().__init__(language)
        self._sentences = self._sentences | _MORE[language]
