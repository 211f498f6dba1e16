"""Processors of made-up machines: bare metal, virtual machines that hide their caches, Arm."""

from collections.abc import Callable
from pathlib import Path

import pytest

from isthmus.machine.cpu import read_cpu
from isthmus.record import KIB, MIB

Tree = Callable[[dict[str, str]], Path]
_CPUS = "sys/devices/system/cpu"


def _cpuinfo(*fields: str, processors: int = 1) -> dict[str, str]:
    blocks = ("\n".join([f"processor\t: {cpu}", *fields]) for cpu in range(processors))
    return {"proc/cpuinfo": "\n\n".join(blocks) + "\n"}


def test_two_sockets_with_three_levels_of_cache(tree: Tree) -> None:
    caches = {"index0": ("1", "Data", "48K"), "index1": ("1", "Instruction", "32K")}
    caches |= {"index2": ("2", "Unified", "2048K"), "index3": ("3", "Unified", "107520K")}
    files = _cpuinfo("vendor_id\t: GenuineIntel", "model name\t: Intel(R)  Xeon(R)   8480+", "flags\t: fpu lm")
    files[f"{_CPUS}/online"] = "0-3\n"
    files |= {f"{_CPUS}/cpu{cpu}/topology/physical_package_id": f"{cpu // 2}\n" for cpu in range(4)}
    for index, (level, kind, size) in caches.items():
        cache = f"{_CPUS}/cpu0/cache/{index}"
        files |= {f"{cache}/level": level, f"{cache}/type": kind, f"{cache}/size": size, f"{cache}/uevent": ""}
    cpu = read_cpu(tree(files))
    assert cpu.model == "Intel(R) Xeon(R) 8480+"
    assert (cpu.sockets, cpu.logical) == (2, 4)
    assert cpu.last_level_cache_bytes == 105 * MIB
    assert cpu.hypervisor is False


def test_a_virtual_machine_without_cache_directory(tree: Tree) -> None:
    fields = ("vendor_id\t: GenuineIntel", "cache size\t: 16384 KB", "physical id\t: 0", "flags\t: fpu hypervisor lm")
    cpu = read_cpu(tree(_cpuinfo(*fields, processors=3)))
    assert cpu.hypervisor is True
    assert (cpu.sockets, cpu.logical) == (1, 3)
    assert cpu.last_level_cache_bytes == 16 * MIB


def test_amds_cache_size_is_not_taken_for_the_last_level(tree: Tree) -> None:
    cpu = read_cpu(tree(_cpuinfo("vendor_id\t: AuthenticAMD", "cache size\t: 512 KB", "flags\t: hypervisor")))
    assert cpu.last_level_cache_bytes is None


def test_the_cache_is_read_from_a_cpu_that_is_online(tree: Tree) -> None:
    cache = f"{_CPUS}/cpu2/cache/index2"
    root = tree(
        {f"{_CPUS}/online": "2-3\n", f"{cache}/level": "2", f"{cache}/type": "Unified", f"{cache}/size": "512K"}
    )
    assert read_cpu(root).last_level_cache_bytes == 512 * KIB


@pytest.mark.parametrize("size", ["", "0K", "-1K", "big"])
def test_a_cache_size_that_is_none(tree: Tree, size: str) -> None:
    cache = f"{_CPUS}/cpu0/cache/index3"
    root = tree({f"{_CPUS}/online": "0", f"{cache}/level": "3", f"{cache}/type": "Unified", f"{cache}/size": size})
    assert read_cpu(root).last_level_cache_bytes is None


@pytest.mark.parametrize(
    ("fields", "model"),
    [
        (("CPU implementer\t: 0x41", "CPU part\t: 0xd4f"), "Arm Neoverse-V2"),
        (("CPU implementer\t: 0x48", "CPU part\t: 0xd01"), "Arm core 0xd01 of implementer 0x48"),
        (("CPU implementer\t: ?", "CPU part\t: 0xd4f"), ""),
        (("cpu\t\t: POWER9, altivec supported",), "POWER9, altivec supported"),
    ],
)
def test_models_without_a_name_of_their_own(tree: Tree, fields: tuple[str, ...], model: str) -> None:
    cpu = read_cpu(tree(_cpuinfo(*fields)))
    assert cpu.model == model
    assert cpu.hypervisor is None


def test_an_arm_guest_shows_by_its_firmware(tree: Tree) -> None:
    root = tree(_cpuinfo("CPU part\t: 0xd0c") | {"sys/class/dmi/id/sys_vendor": "QEMU\n"})
    assert read_cpu(root).hypervisor is True


def test_packages_of_arm_firmware_without_a_table_are_unknown(tree: Tree) -> None:
    root = tree({f"{_CPUS}/online": "0", f"{_CPUS}/cpu0/topology/physical_package_id": "-1\n"})
    assert read_cpu(root).sockets is None


def test_allowed_cpus_are_those_of_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: {3, 5, 9})
    assert read_cpu(tmp_path).allowed == 3
