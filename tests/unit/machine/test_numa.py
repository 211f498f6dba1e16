"""CPU lists in the kernel's form, and NUMA nodes of made-up machines."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isthmus.machine.cpu import cpus_of_node, format_cpu_list, parse_cpu_list, read_numa_nodes
from isthmus.record import KIB, NumaNode


@pytest.mark.parametrize(
    ("text", "cpus"),
    [("0-3,8", {0, 1, 2, 3, 8}), ("5", {5}), ("", set()), ("\n", set()), ("0-1,64-65\n", {0, 1, 64, 65})],
)
def test_parses_the_kernels_form(text: str, cpus: set[int]) -> None:
    assert parse_cpu_list(text) == cpus


@pytest.mark.parametrize("text", ["a", "3-1", "1-", "-1", "0x3", "0-3:1/2", "0-4294967295", "1 2"])
def test_refuses_what_is_no_list(text: str) -> None:
    with pytest.raises(ValueError, match="not a"):
        parse_cpu_list(text)


def test_formats_runs_as_ranges() -> None:
    assert format_cpu_list([8, 2, 1, 0, 3, 3]) == "0-3,8"
    assert format_cpu_list([]) == ""


@given(st.sets(st.integers(0, 8191)))
def test_parsing_undoes_formatting(cpus: set[int]) -> None:
    assert parse_cpu_list(format_cpu_list(cpus)) == cpus


def test_nodes_in_order_of_number_and_one_without_cpus(tree: Callable[[dict[str, str]], Path]) -> None:
    nodes = "sys/devices/system/node"
    root = tree(
        {
            f"{nodes}/node0/cpulist": "0-1\n",
            f"{nodes}/node0/meminfo": "Node 0 MemTotal:       1000 kB\nNode 0 MemFree:  10 kB\n",
            f"{nodes}/node10/cpulist": "\n",
            f"{nodes}/node10/meminfo": "Node 10 MemTotal:       3000 kB\n",
            f"{nodes}/node2/cpulist": "2-3\n",
            f"{nodes}/node2/meminfo": "",
            f"{nodes}/possible": "0-10\n",
        }
    )
    assert read_numa_nodes(root) == [
        NumaNode(id=0, cpus="0-1", memory_bytes=1000 * KIB),
        NumaNode(id=2, cpus="2-3", memory_bytes=0),
        NumaNode(id=10, cpus="", memory_bytes=3000 * KIB),
    ]
    assert cpus_of_node(2, root) == {2, 3}
    assert cpus_of_node(10, root) == set()
    assert cpus_of_node(7, root) == set()


def test_a_kernel_without_numa_has_no_nodes(tmp_path: Path) -> None:
    assert read_numa_nodes(tmp_path) == []


def test_a_damaged_list_is_no_answer(tree: Callable[[dict[str, str]], Path]) -> None:
    root = tree({"sys/devices/system/node/node0/cpulist": "\x00garbage"})
    assert cpus_of_node(0, root) == set()
    assert read_numa_nodes(root) == [NumaNode(id=0)]
