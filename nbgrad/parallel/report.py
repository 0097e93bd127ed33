"""Who computed what in the last step, and who was late."""

from dataclasses import dataclass
from statistics import median_low

from .work import Seen

_LATE = 1.5


@dataclass(frozen=True)
class Report:
    """A step: its seconds for the caller, and what was seen of each shard (on MPI, of each rank).

    `print(vg.report)` shows a line for each worker: its shards, rows and seconds, and "straggler"
    where it was slow: see `stragglers`.
    """

    seconds: float
    seen: tuple[Seen, ...]

    @property
    def workers(self) -> dict[str, float]:
        """The seconds that each worker computed."""
        busy: dict[str, float] = {}
        for one in self.seen:
            busy[one.worker] = busy.get(one.worker, 0.0) + one.seconds
        return busy

    @property
    def rows(self) -> dict[str, int]:
        """The rows that each worker computed."""
        rows: dict[str, int] = {}
        for one in self.seen:
            rows[one.worker] = rows.get(one.worker, 0) + one.rows
        return rows

    @property
    def stragglers(self) -> list[str]:
        """The workers that took more than 1.5 times as long as the usual one, and as long for a
        row: who was given more to do is not slow."""
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
    """The median; of two the lower one, so that one of two can be late."""
    return median_low(of.values()) if of else 0.0
