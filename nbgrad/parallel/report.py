"""`Report`: the work of each worker in a step, and stragglers."""

from dataclasses import dataclass
from statistics import median_low
from typing import Any

from .work import Seen

_LATE = 1.5


@dataclass(frozen=True)
class Report:
    """The duration of a step in seconds, and the work on each shard (with MPI, of each rank).

    `print(vg.report)` shows the shards, rows and seconds of each worker, and marks stragglers.

    >>> vg = nbgrad.parallel.value_and_grad(lambda w, x: np.sum(w * x), reduce="sum")
    >>> value, slope = vg(2.0, [(np.ones(3),), (np.ones(2),)])
    >>> len(vg.report.seen)
    2
    """

    seconds: float
    seen: tuple[Seen, ...]

    @property
    def workers(self) -> dict[str, float]:
        """The computing time of each worker, in seconds."""
        return self._sums("seconds")

    @property
    def rows(self) -> dict[str, int]:
        """The number of rows that each worker computed."""
        return self._sums("rows")

    def _sums(self, name: str) -> dict[str, Any]:
        sums: dict[str, Any] = {}
        for one in self.seen:
            sums[one.worker] = sums.get(one.worker, 0) + getattr(one, name)
        return sums

    @property
    def stragglers(self) -> list[str]:
        """The workers that took more than 1.5 times the median time, in total and per row."""
        busy, rows = self.workers, self.rows
        pace = {worker: seconds / max(rows[worker], 1) for worker, seconds in busy.items()}
        late = [{worker for worker in of if of[worker] > _LATE * _usual(of)} for of in (busy, pace)]
        return [worker for worker in busy if worker in late[0] & late[1]]

    def __str__(self) -> str:
        late, rows = self.stragglers, self.rows
        lines = [f"{self.seconds:.4f} s for {len(self.seen)} shards"]
        for worker, seconds in self.workers.items():
            mine = [one for one in self.seen if one.worker == worker]
            shards = ", ".join(str(one.shard) for one in mine)
            mark = "  straggler" if worker in late else ""
            lines.append(f"  {worker}: {seconds:.4f} s, {rows[worker]} rows, shards {shards}{mark}")
        return "\n".join(lines)


def _usual(of: dict[str, float]) -> float:
    """Return the lower median, so that one of two workers can be a straggler."""
    return median_low(of.values()) if of else 0.0
