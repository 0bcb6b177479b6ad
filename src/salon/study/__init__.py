"""The nouns of a preference study. No files, networks or GPUs in here."""

from salon.study.criterion import Criterion, Scale, builtin_criteria, builtin_criterion, matching_criteria
from salon.study.design import Design
from salon.study.generator import Abilities, Ask, Failed, Generator, Made
from salon.study.item import Item
from salon.study.judgment import Checklist, Choice, Comparison, Judgment, Ranking, Rating
from salon.study.merge import merge
from salon.study.prompt import Prompt
from salon.study.rater import Cohort, Rater
from salon.study.scorer import Scorer
from salon.study.scores import Score, Scores
from salon.study.signature import Signature
from salon.study.study import Revision, Study

__all__ = [
    "Abilities",
    "Ask",
    "Checklist",
    "Choice",
    "Cohort",
    "Comparison",
    "Criterion",
    "Design",
    "Failed",
    "Generator",
    "Item",
    "Judgment",
    "Made",
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
    "matching_criteria",
    "merge",
]
