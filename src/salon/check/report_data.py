"""What was judged and what was done about it; how the numbers were made."""

from __future__ import annotations

from markupsafe import Markup

from salon.check.report_parts import name_of_cohort
from salon.check.report_signal import TESTS
from salon.check.results import CheckReport, CriterionFigures, TestFigures
from salon.report import Block, Cell, Column, Note, Prose, Section, Table
from salon.report.words import brief, counted, fixed, gathered, level_words, listed, sentence

MADE_BY_TIE_BREAK = (
    " Made by tie-break: the mean τ that breaking ties alike for every rater makes of shuffled answers, with no "
    "preference left in them."
)
DECIMALS = {"agreement": 3, "T": 2, "p_max": 2, "cycle": 0, "pairs": 3}
METHOD = """The first answer rests on one test: the total agreement over prompts, that is concordant minus discordant
pairs of votes, against its law under random raters, adjusted over criteria after Holm. It needs no interval and holds
for one prompt as for many. A tie is no vote to it.

The null. Every rater ranks uniformly at random, independently of all others. T, the p max histogram and the
cycle indicator all depend only on the votes on each pair, so one enumeration gives their joint law; where it is too
large the page says Monte Carlo and how many prompts were drawn.

T is a function of the p max histogram: the two tests look at the same evidence and are not independent. The pairs of
one prompt are dependent, so the p max statistic follows a weighted sum of chi-squares; the usual chi-square law is
wrong for it, and its p is printed only as the naive one.

Cycles at or below the null do not exclude factions. Factions are tested where they would show: in the matrix of mean τ
between raters, against one shared order with each rater's own noise. Without enough power for that the second answer is
that one taste or camps cannot be told.

Ceilings. Accuracy is measured against the panel's majority. The next rater and the oracle are ranges over every law
of pair probabilities that the votes allow; a fitted beta law is one point of each. Panel, leave-one-out and cap are
given for comparison with papers: the panel's figure counts the rater's own vote, and the cap is not a bound."""


def data_section(report: CheckReport) -> Section:
    """Protocol, size and ties of each criterion."""
    stable = any(c.tie_control is not None for c in report.criteria)
    columns = [
        Column("name", "Criterion"),
        *([Column("cohort", "Cohort")] if any(c.cohort for c in report.criteria) else []),
        Column("protocol", "Answers"),
        Column("prompts", "Prompts", "count"),
        Column("judgments", "Judgments", "count"),
        Column("tie_rate", "Tied pairs", "percent", hint="Share of item pairs that a rater left tied"),
        *([Column("control", "Made by tie-break", "number", hint="Mean τ of shuffled answers")] if stable else []),
    ]
    rows = [_data_row(c) for c in report.criteria]
    caption = "Answers by criterion." + (MADE_BY_TIE_BREAK if stable else "")
    blocks = [Table(columns, rows, caption)] if rows else ["The study holds no judgments of a criterion."]
    return Section("Data", blocks, "What was judged.")


def _data_row(c: CriterionFigures) -> dict[str, object]:
    control = Cell(c.tie_control, "" if c.tie_control is not None else "ties were not broken alike for all raters")
    return {
        "name": c.name, "cohort": name_of_cohort(c), "protocol": c.protocol, "prompts": c.prompts,
        "judgments": c.judgments, "tie_rate": c.tie_rate, "control": control,
    }  # fmt: skip


def policies(report: CheckReport) -> list[Table]:
    """Each policy once, with the criteria it was applied to."""
    told = gathered((c.name, policy) for c in report.criteria for policy in c.policies)
    if not told:
        return []
    rows = [{"policy": sentence(policy), "criteria": _criteria_words(names, report)} for policy, names in told]
    several = len(report.criteria) > 1
    columns = [Column("policy", "Policy"), *([Column("criteria", "Criteria")] if several else [])]
    return [Table(columns, rows, "What was done about ties, gaps and skipped answers.", sortable=False)]


def _criteria_words(names: list[str], report: CheckReport) -> Markup:
    return Markup("all") if len(names) == len(report.criteria) else listed(names)


def method_section(report: CheckReport) -> Section:
    """How to read the tests, and the law behind each."""
    laws = _laws(report)
    seed = report.signature.seed
    told = Markup("Intervals are at the {} level, from whole prompts drawn again.").format(level_words(report))
    if seed is not None:
        told += Markup(" Everything drawn by chance comes from seed {}.").format(fixed(seed, 0))
    return Section(
        "Method",
        [Prose(METHOD.replace("\n\n", "\0").replace("\n", " ").replace("\0", "\n\n")), Prose(told), *laws],
        "How the numbers were made.",
    )


def _laws(report: CheckReport) -> list[Block]:
    """Statistics by criterion and test, then each law once with the criteria it was used for."""
    made = [(c, t) for c in report.criteria for t in c.tests if t.refused is None]
    if not made:
        return [Note("No test could be made.", "thin")]
    used = [name for name in TESTS if any(t.name == name for _, t in made)]
    rows = []
    for c in dict.fromkeys(c.name for c, _ in made):
        rows.append({"name": c, **{name: Cell(None, "not tested") for name in used}})
        rows[-1] |= {t.name: Cell(t.statistic, t.law or "", _n_words(t)) for other, t in made if other.name == c}
    columns = [Column("name", "Criterion"), *(Column(name, TESTS[name], "number", DECIMALS[name]) for name in used)]
    return [Table(columns, rows, "Test statistics, and below each the n it rests on."), _law_table(report)]


def _n_words(test: TestFigures) -> Markup:
    if test.n is None:
        return Markup("")
    return Markup("n {}").format(counted(test.n, test.unit) if test.unit else fixed(test.n, 0))


def _law_table(report: CheckReport) -> Table:
    laws = [(c.name, f"{TESTS[t.name]}: {t.law}") for c in report.criteria for t in c.tests if t.law]
    laws += [(c.name, f"Factions: {c.factions.law}") for c in report.criteria if c.factions and c.factions.law]
    rows = [{"law": brief(law, 200), "criteria": _criteria_words(names, report)} for law, names in gathered(laws)]
    columns = [Column("law", "Law under the null"), Column("criteria", "Criteria")]
    return Table(columns, rows, "The law each test was compared with.", sortable=False)
