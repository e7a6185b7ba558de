"""Bounds that the reference library of RFC 9971 finds for servers whose losses are a function of the load.

Each argument is the capacity of a server that loses what is beyond it; for each a line is printed: the relevant
lower and upper bound at which at most 0.1 % is lost.
"""

import sys

from MLRsearch import AbstractMeasurer, Config, MeasurementResult, MultipleLossRatioSearch, SearchGoal


class Server(AbstractMeasurer):
    """Loses what is beyond its capacity."""

    def __init__(self, capacity: float) -> None:
        self.capacity = capacity

    def measure(self, intended_duration: float, intended_load: float) -> MeasurementResult:
        offered = 10_000_000
        loss = max(0.0, 1.0 - self.capacity / intended_load)
        return MeasurementResult(
            intended_duration=intended_duration,
            intended_load=intended_load,
            offered_count=offered,
            loss_count=round(offered * loss),
        )


for capacity in map(float, sys.argv[1:]):
    config = Config()
    config.goals = [
        SearchGoal(
            loss_ratio=0.001,
            exceed_ratio=0.5,
            relative_width=0.01,
            initial_trial_duration=1.0,
            final_trial_duration=4.0,
            duration_sum=8.0,
        )
    ]
    config.max_load, config.min_load = 1e6, 1.0
    config.warmup_duration = None
    results = MultipleLossRatioSearch(config).search(Server(capacity), debug=lambda _: None)
    for result in results.values():
        print(float(result.relevant_lower_bound), float(result.relevant_upper_bound))
