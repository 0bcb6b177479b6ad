"""Anything that answers against people: a VLM judge, a rater that is a model, a scorer, a trained model.

`judges.report_judges` (judge report), `models.evaluate` (models) and `scorers.evaluate_scores` (scores) give one
`results.Evaluation`; `page.evaluation_page` makes its page, and `tables` and `part_tables` its tables.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
