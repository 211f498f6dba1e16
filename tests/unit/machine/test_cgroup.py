"""Limits of control groups in both versions, seen from inside and outside of containers, and who set them."""

from collections.abc import Callable
from pathlib import Path

import pytest

from isthmus.machine.host import ContainerLimits, container_kind, read_container_limits
from isthmus.record import GIB

Tree = Callable[[dict[str, str]], Path]

_V2_MOUNT = "31 23 0:28 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"


def _v1_mounts(top: str) -> str:
    return (
        f"32 31 0:29 {top} /sys/fs/cgroup/memory ro,nosuid master:9 - cgroup cgroup rw,memory\n"
        f"33 31 0:30 {top} /sys/fs/cgroup/cpu,cpuacct ro,nosuid master:10 - cgroup cgroup rw,cpu,cpuacct\n"
        f"34 31 0:31 {top} /sys/fs/cgroup/pids ro,nosuid - cgroup cgroup rw,pids\n"
    )


def test_version_2_the_tightest_group_above_the_process_counts(tree: Tree) -> None:
    group = "sys/fs/cgroup/system.slice/slurmd.service/job_7"
    root = tree(
        {
            "proc/self/cgroup": "0::/system.slice/slurmd.service/job_7/step_0\n",
            "proc/self/mountinfo": "22 27 0:21 / /proc rw - proc proc rw\n" + _V2_MOUNT,
            f"{group}/step_0/memory.max": "max\n",
            f"{group}/step_0/cpu.max": "max 100000\n",
            f"{group}/step_0/pids.max": "4096\n",
            f"{group}/memory.max": f"{64 * GIB}\n",
            f"{group}/cpu.max": "350000 100000\n",
            "sys/fs/cgroup/system.slice/memory.max": f"{128 * GIB}\n",
            "sys/fs/cgroup/system.slice/cpu.max": "800000 100000\n",
            "sys/fs/cgroup/system.slice/pids.max": "512\n",
            # A neighbour's limits are none of ours.
            "sys/fs/cgroup/user.slice/memory.max": "1\n",
        }
    )
    assert read_container_limits(root) == ContainerLimits(64 * GIB, 3.5, 512)


def test_version_2_inside_a_namespace_the_mount_is_the_group(tree: Tree) -> None:
    root = tree(
        {
            "proc/self/cgroup": "0::/\n",
            "proc/self/mountinfo": _V2_MOUNT,
            "sys/fs/cgroup/memory.max": f"{2 * GIB}\n",
            "sys/fs/cgroup/cpu.max": "150000 100000\n",
        }
    )
    assert read_container_limits(root) == ContainerLimits(2 * GIB, 1.5, None)


def test_version_2_a_process_outside_its_namespace_sees_the_mount_only(tree: Tree) -> None:
    root = tree(
        {
            "proc/self/cgroup": "0::/../../elsewhere\n",
            "proc/self/mountinfo": _V2_MOUNT,
            "sys/fs/cgroup/memory.max": f"{GIB}\n",
            "sys/fs/elsewhere/memory.max": "1\n",
            "sys/elsewhere/memory.max": "1\n",
        }
    )
    assert read_container_limits(root).memory_bytes == GIB


def test_version_1_inside_docker_without_namespace(tree: Tree) -> None:
    root = tree(
        {
            "proc/self/cgroup": "9:memory:/docker/abc\n8:cpu,cpuacct:/docker/abc\n7:pids:/docker/abc/sub\n0::/\n",
            "proc/self/mountinfo": _v1_mounts("/docker/abc"),
            "sys/fs/cgroup/memory/memory.limit_in_bytes": f"{4 * GIB}\n",
            "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "200000\n",
            "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n",
            "sys/fs/cgroup/pids/pids.max": "max\n",
            "sys/fs/cgroup/pids/sub/pids.max": "99\n",
        }
    )
    assert read_container_limits(root) == ContainerLimits(4 * GIB, 2.0, 99)


def test_version_1_absurd_and_negative_values_are_no_limit(tree: Tree) -> None:
    root = tree(
        {
            "proc/self/cgroup": "9:memory:/user\n8:cpu,cpuacct:/user\n",
            "proc/self/mountinfo": _v1_mounts("/"),
            "sys/fs/cgroup/memory/user/memory.limit_in_bytes": "9223372036854771712\n",
            "sys/fs/cgroup/cpu,cpuacct/user/cpu.cfs_quota_us": "-1\n",
            "sys/fs/cgroup/cpu,cpuacct/user/cpu.cfs_period_us": "100000\n",
        }
    )
    assert read_container_limits(root) == ContainerLimits()


def test_a_mount_point_with_a_blank(tree: Tree) -> None:
    root = tree(
        {
            "proc/self/cgroup": "0::/\n",
            "proc/self/mountinfo": "31 23 0:28 / /my\\040groups rw - cgroup2 cgroup2 rw\n",
            "my groups/pids.max": "77\n",
        }
    )
    assert read_container_limits(root).processes == 77


@pytest.mark.parametrize("garbage", ["", "\n", "12 34 56", "a few words", "100000 0", "-5 -5"])
def test_garbage_is_no_limit(tree: Tree, garbage: str) -> None:
    mounts = f"{garbage}\n 1 2 - cgroup2\n{_V2_MOUNT}"
    files = dict.fromkeys(("memory.max", "cpu.max", "pids.max", "cpu.cfs_quota_us", "cpu.cfs_period_us"), garbage)
    root = tree(
        {"proc/self/cgroup": f"{garbage}\n0::/\n", "proc/self/mountinfo": mounts}
        | {f"sys/fs/cgroup/{name}": text for name, text in files.items()}
    )
    assert read_container_limits(root) == ContainerLimits()


@pytest.mark.parametrize(
    ("files", "environment", "kind"),
    [
        ({}, {}, ""),
        ({".dockerenv": ""}, {}, "docker"),
        ({"proc/self/cgroup": "5:memory:/docker/abc\n"}, {}, "docker"),
        ({"proc/self/cgroup": "0::/system.slice/docker-abc.scope\n"}, {}, "docker"),
        ({"proc/self/cgroup": "0::/system.slice/docker.service\n", "run/.containerenv": ""}, {}, "podman"),
        ({".dockerenv": ""}, {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, "kubernetes"),
        ({"proc/self/cgroup": "0::/kubepods.slice/kubepods-pod1.slice\n"}, {}, "kubernetes"),
        ({"proc/self/cgroup": "4:cpu:/lxc/box\n"}, {}, "lxc"),
        ({"run/systemd/container": "lxc\n"}, {}, "lxc"),
        ({}, {"SLURM_JOB_ID": "42"}, "slurm job"),
        ({"proc/self/cgroup": "0::/system.slice/slurmstepd.scope/job_42/step_0\n"}, {}, "slurm job"),
        ({".singularity.d/startscript": ""}, {"SLURM_JOB_ID": "42"}, "apptainer"),
        ({"proc/self/cgroup": "0::/user.slice/user-1000.slice\n"}, {"HOME": "/home/docker"}, ""),
    ],
)
def test_who_confines_the_process(tree: Tree, files: dict[str, str], environment: dict[str, str], kind: str) -> None:
    assert container_kind(tree(files), environment) == kind
