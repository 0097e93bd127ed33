"""The memory that this process may take, from the files of a system."""

import pytest

from nbgrad.runtime.available import TOTAL, available, readable

MEMORY = "MemTotal:       24000 kB\nMemFree:         1000 kB\nMemAvailable:   20000 kB\n"


def system(root, memory=MEMORY, **groups):
    files = {"proc/meminfo": memory, **groups.get("files", {})}
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


NEW = {
    "proc/self/cgroup": "0::/job\n",
    "proc/self/mountinfo": "30 20 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup rw\n",
    "sys/fs/cgroup/job/memory.max": "5000000\n",
    "sys/fs/cgroup/job/memory.current": "3000000\n",
    "sys/fs/cgroup/job/memory.stat": "anon 100\ninactive_file 1000000\n",
}
OLD = {
    "proc/self/cgroup": "4:memory:/job\n",
    "proc/self/mountinfo": "30 20 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n",
    "sys/fs/cgroup/memory/job/memory.limit_in_bytes": "4000000\n",
    "sys/fs/cgroup/memory/job/memory.usage_in_bytes": "3500000\n",
    "sys/fs/cgroup/memory/job/memory.stat": "cache 100\ntotal_inactive_file 500000\n",
}


@pytest.mark.parametrize(
    ("files", "count"),
    [
        ({}, 20000 << 10),
        (NEW, 3_000_000),
        ({**NEW, "sys/fs/cgroup/job/memory.max": "max\n"}, 20000 << 10),
        ({**NEW, "sys/fs/cgroup/memory.max": "10\n", "sys/fs/cgroup/memory.current": "4\n",
          "sys/fs/cgroup/memory.stat": ""}, 6),
        (OLD, 1_000_000),
        ({"proc/self/cgroup": "nonsense"}, 20000 << 10),
    ],
)  # fmt: skip
def test_the_least_of_the_machine_and_its_control_groups(tmp_path, files, count):
    assert available(system(tmp_path, files=files)) == count


def test_without_such_files_there_is_the_memory_of_the_machine(tmp_path):
    assert available(tmp_path) > 10**8
    assert TOTAL.value > 10**8


def test_readable():
    found = [readable(x) for x in (0, 5, 999, 1000, 160_000, 1.6e9, 99.6e6, 10**14, 10**18)]
    assert found == [
        "0 bytes", "5 bytes", "999 bytes", "1 kB", "160 kB", "1.6 GB", "100 MB", "100 TB",
        "more than 1000 TB",
    ]  # fmt: skip
