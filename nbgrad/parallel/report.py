"""Who computed what in the last step, and who was late."""

from dataclasses import dataclass
from statistics import median

from .work import Seen

_LATE = 1.5


@dataclass(frozen=True)
class Report:
    """A step: its seconds for the caller, and what was seen of each shard (on MPI, of each rank).

    `print(vg.report)` shows a line for each worker: its shards, rows and seconds, and "straggler"
    where it took more than 1.5 times the median of the workers.
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
    def stragglers(self) -> list[str]:
        """The workers that took more than 1.5 times the median of all."""
        busy = self.workers
        limit = _LATE * median(busy.values()) if busy else 0.0
        return [worker for worker, seconds in busy.items() if seconds > limit]

    def __str__(self) -> str:
        late = self.stragglers
        lines = [f"{self.seconds:.4f} s for {len(self.seen)} shards"]
        for worker, seconds in self.workers.items():
            mine = [one for one in self.seen if one.worker == worker]
            shards = ", ".join(str(one.shard) for one in mine)
            rows = sum(one.rows for one in mine)
            mark = "  straggler" if worker in late else ""
            lines.append(f"  {worker}: {seconds:.4f} s, {rows} rows, shards {shards}{mark}")
        return "\n".join(lines)
