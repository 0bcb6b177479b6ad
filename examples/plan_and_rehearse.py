"""How many prompts does a study need? Ask, then rehearse with that many: python examples/plan_and_rehearse.py"""

from __future__ import annotations

import salon
from salon.check import PlanSettings, plan
from salon.collect import SimulateSettings, simulate_study

TAU, RATERS, CRITERIA = 0.15, 5, 3


def main() -> None:
    asked = PlanSettings(items=4, raters=RATERS, criteria=CRITERIA, tau=TAU, sims=500)
    answer = plan(asked, salon.null_for)
    needed = next(one.value for one in answer.smallest if one.of == "prompts" and one.target == 0.9)
    if needed is None:
        raise SystemExit("no number of prompts is enough: ask for a larger tau, or more raters")
    print(f"{needed} prompts give 90% power for a mean tau of {TAU} in each of {CRITERIA} criteria")
    rehearsal = simulate_study(SimulateSettings(prompts=needed, raters=RATERS, criteria=CRITERIA, tau=TAU, seed=2))
    for criterion in salon.check_study(rehearsal).criteria:
        print(f"{criterion.name}: mean tau {criterion.statistics.mean_tau:.3f}, {criterion.answer}")


if __name__ == "__main__":
    main()
