"""The quotas of control groups, in both versions of them, bound the cores of a process."""

import os

import pytest

from nbgrad.runtime.cores import cores
from nbgrad.threads import pool

V2 = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate"
V1 = "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct"
MEMORY = "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory"
UNIFIED = "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw"
# A container that sees a part of the tree of its host.
PART = "32 31 0:29 /docker/abc /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu"
OWN2, OWN1 = "sys/fs/cgroup/slice/job", "sys/fs/cgroup/cpu,cpuacct/slice/job"

CASES = {
    "no files": ({}, 16),
    "no quota": ({"cgroup": "0::/slice/job", "mounts": V2, OWN2: "max 100000"}, 16),
    "of its own": ({"cgroup": "0::/slice/job", "mounts": V2, OWN2: "300000 100000"}, 3),
    "of a parent": (
        {"cgroup": "0::/slice/job", "mounts": V2, OWN2: "800000 100000",
         "sys/fs/cgroup/slice": "200000 100000"}, 2,
    ),
    "of the root": ({"cgroup": "0::/", "mounts": V2, "sys/fs/cgroup": "400000 100000"}, 4),
    "a part of a core": ({"cgroup": "0::/", "mounts": V2, "sys/fs/cgroup": "10000 100000"}, 1),
    "a core and a half": ({"cgroup": "0::/", "mounts": V2, "sys/fs/cgroup": "75000 50000"}, 2),
    "more than there are": ({"cgroup": "0::/", "mounts": V2, "sys/fs/cgroup": "9900000 9999"}, 16),
    "version 1": ({"cgroup": "4:cpu,cpuacct:/slice/job", "mounts": V1, OWN1: (250000, 50000)}, 5),
    "version 1, parent": (
        {"cgroup": "4:cpu,cpuacct:/slice/job", "mounts": V1, OWN1: (-1, 100000),
         "sys/fs/cgroup/cpu,cpuacct/slice": (600000, 100000)}, 6,
    ),
    "version 1, none": ({"cgroup": "4:cpu:/slice/job", "mounts": V1, OWN1: (-1, 99)}, 16),
    "both versions": (
        {"cgroup": "5:memory:/m\n4:cpu,cpuacct:/slice/job\n0::/u",
         "mounts": f"{MEMORY}\n{V1}\n{UNIFIED}", OWN1: (700000, 100000)}, 7,
    ),
    "a part of the tree": (
        {"cgroup": "1:cpu:/docker/abc", "mounts": PART, "sys/fs/cgroup/cpu": (200000, 100000)}, 2,
    ),
    "another part": (
        {"cgroup": "1:cpu:/elsewhere", "mounts": PART, "sys/fs/cgroup/cpu": (300000, 100000)}, 3,
    ),
    "no numbers": ({"cgroup": "0::/", "mounts": V2, "sys/fs/cgroup": "many of them"}, 16),
    "no lines": ({"cgroup": "nothing", "mounts": "nothing"}, 16),
}  # fmt: skip


@pytest.fixture(autouse=True)
def _sixteen(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(16)), raising=False)


@pytest.mark.parametrize("files, expected", CASES.values(), ids=CASES)
def test_cores_of_a_process(files, expected, tmp_path):
    (tmp_path / "proc/self").mkdir(parents=True)
    for name, held in files.items():
        if name == "cgroup":
            (tmp_path / "proc/self/cgroup").write_text(f"{held}\n")
        elif name == "mounts":
            (tmp_path / "proc/self/mountinfo").write_text(f"{held}\n")
        else:
            folder = tmp_path / name
            folder.mkdir(parents=True, exist_ok=True)
            if isinstance(held, str):
                (folder / "cpu.max").write_text(f"{held}\n")
            else:
                for kind, number in zip(("quota", "period"), held, strict=True):
                    (folder / f"cpu.cfs_{kind}_us").write_text(f"{number}\n")
    assert cores(tmp_path) == expected


def test_threads_are_no_more_than_cores(monkeypatch):
    monkeypatch.setattr(pool, "cores", lambda: 1)
    assert pool._default() == 1
