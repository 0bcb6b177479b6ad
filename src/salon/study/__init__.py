"""The nouns of a preference study. No files, networks or GPUs in here."""

from salon.study.criterion import Criterion, Scale, builtin_criteria, builtin_criterion
from salon.study.design import Design
from salon.study.item import Item
from salon.study.judgment import Checklist, Choice, Comparison, Judgment, Ranking, Rating
from salon.study.merge import merge
from salon.study.prompt import Prompt
from salon.study.rater import Cohort, Rater
from salon.study.scorer import Generator, Scorer
from salon.study.scores import Score, Scores
from salon.study.signature import Signature
from salon.study.study import Revision, Study

__all__ = [
    "Checklist",
    "Choice",
    "Cohort",
    "Comparison",
    "Criterion",
    "Design",
    "Generator",
    "Item",
    "Judgment",
    "Prompt",
    "Ranking",
    "Rater",
    "Rating",
    "Revision",
    "Scale",
    "Score",
    "Scorer",
    "Scores",
    "Signature",
    "Study",
    "builtin_criteria",
    "builtin_criterion",
    "merge",
]
