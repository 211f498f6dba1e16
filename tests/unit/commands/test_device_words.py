"""What `isthmus devices` says about devices and absent backends, and when it warns."""

import pytest
from msgspec.structs import replace

from isthmus.commands._device_words import absent_block, device_block
from isthmus.document.document import Machine
from isthmus.record import Backend, Device, Host, Link, NumaNode

_CUDA = Backend(name="cuda", library="libcuda.so.1")


def _remarks(block: Machine) -> list[str]:
    return [fact.value for fact in block.facts if fact.is_remark]


def _commands(block: Machine) -> list[str]:
    return [command for fact in block.facts for command in fact.commands]


def _row(block: Machine, label: str) -> str:
    return next(row.value for row in block.facts if row.name == label)


def _texts(block: Machine) -> str:
    return "\n".join(row.value for row in block.facts)


def test_a_device_in_order_gets_no_remark(h200: Device, node: Host) -> None:
    block = device_block(h200, _CUDA, node, range(8))
    assert _remarks(block) == []
    assert block.title == "cuda:0  NVIDIA H200"
    assert _row(block, "memory") == "140.4 GiB"
    assert _row(block, "driver") == "580.159.03, CUDA 13.0, compute capability 9.0, libcuda.so.1"
    assert _row(block, "link") == "PCIe 5.0 x16 now, 5.0 x16 at most"
    assert "not read under load" in _texts(block)
    assert _row(block, "NUMA node") == "1, near CPUs 4-7"
    assert _row(block, "copy engines") == "3"
    assert _row(block, "temperature") == "34 C"


def test_an_opencl_version_names_itself(h200: Device, node: Host) -> None:
    device = replace(h200, backend="opencl", api_version="OpenCL 3.0 CUDA 13.0.97", compute_capability="")
    assert _row(device_block(device, Backend(name="opencl"), node, range(8)), "driver") == (
        "580.159.03, OpenCL 3.0 CUDA 13.0.97"
    )


def test_theory_is_that_of_the_best_link_while_it_idles(h200: Device, node: Host) -> None:
    idle = replace(h200, link=Link(generation=1, width=16, max_generation=5, max_width=16))
    block = device_block(idle, _CUDA, node, range(8))
    assert _row(block, "link") == "PCIe 1.0 x16 now, 5.0 x16 at most"
    assert _row(block, "in theory").startswith("63.0 GB/s one way at 5.0 x16")
    (remark,) = _remarks(block)
    assert "idle" in remark
    assert "PCIe 1.0" in remark


def test_theory_is_that_of_the_link_under_load_once_known(h200: Device, node: Host) -> None:
    link = Link(generation=1, width=16, max_generation=5, max_width=16, generation_under_load=4, width_under_load=16)
    block = device_block(replace(h200, link=link), _CUDA, node, range(8))
    assert _row(block, "in theory").startswith("31.5 GB/s one way at 4.0 x16")
    assert "PCIe 4.0 x16 under load" in _texts(block)
    assert "not measured here" not in _texts(block)
    (remark,) = _remarks(block)
    assert remark.startswith("Under load the link stays below")


def test_a_link_that_rises_under_load_needs_no_remark(h200: Device, node: Host) -> None:
    link = Link(generation=1, width=16, max_generation=5, max_width=16, generation_under_load=5, width_under_load=16)
    assert _remarks(device_block(replace(h200, link=link), _CUDA, node, range(8))) == []


def test_missing_lanes_are_named(h200: Device, node: Host) -> None:
    link = Link(generation=5, width=8, max_generation=5, max_width=16)
    (remark,) = _remarks(device_block(replace(h200, link=link), _CUDA, node, range(8)))
    assert "fewer lanes" in remark
    assert "x8" in remark


@pytest.mark.parametrize(
    ("link", "words"),
    [
        (Link(generation=5), "PCIe 5.0 now, unknown at most"),
        (Link(max_generation=5, max_width=16), "PCIe unknown now, 5.0 x16 at most"),
        (Link(width=16, max_width=16), "PCIe x16 now, x16 at most"),
    ],
)
def test_a_link_known_in_part(h200: Device, node: Host, link: Link, words: str) -> None:
    block = device_block(replace(h200, link=link), _CUDA, node, range(8))
    assert _row(block, "link") == words
    assert _remarks(block) == []


def test_a_link_that_nobody_shows(h200: Device, node: Host) -> None:
    assert "not shown" in _row(device_block(replace(h200, link=None), _CUDA, node, range(8)), "link")


def test_cpus_all_on_the_other_socket_get_the_command_that_moves_there(h200: Device, node: Host) -> None:
    block = device_block(h200, _CUDA, node, {0, 1, 2})
    (remark,) = _remarks(block)
    assert "CPUs 0-2 only" in remark
    assert _commands(block) == [
        "numactl --cpunodebind=1 --membind=1 isthmus measure --device cuda:0",
        "taskset -c 4-7 isthmus measure --device cuda:0",
    ]


def test_one_near_cpu_is_enough(h200: Device, node: Host) -> None:
    assert _remarks(device_block(h200, _CUDA, node, {0, 7})) == []


def test_an_unknown_node_matters_only_where_there_are_several(h200: Device, node: Host) -> None:
    unknown = replace(h200, numa_node=None)
    block = device_block(unknown, _CUDA, node, range(8))
    assert len(_remarks(block)) == 1
    # Not one for the node of memory only: nothing can run there.
    assert [command.split()[1] for command in _commands(block)] == ["--cpunodebind=0", "--cpunodebind=1"]

    single = replace(node, numa_nodes=[NumaNode(id=0, cpus="0-7")])
    assert _remarks(device_block(unknown, _CUDA, single, range(8))) == []


def test_a_node_without_cpus_is_said_so(h200: Device, node: Host) -> None:
    assert "no CPUs" in _row(device_block(replace(h200, numa_node=2), _CUDA, node, range(8)), "NUMA node")


def test_a_device_in_host_memory_has_no_node_of_its_own(node: Host) -> None:
    pocl = Device(backend="opencl", index=0, name="PoCL", memory_bytes=1 << 34, shares_host_memory=True)
    block = device_block(pocl, Backend(name="opencl"), node, range(8))
    assert "shared with the host" in _row(block, "memory")
    assert not any(row.name in ("NUMA node", "link") for row in block.facts)


def test_a_single_copy_engine_cannot_do_both_ways(h200: Device, node: Host) -> None:
    block = device_block(replace(h200, copy_engines=1), _CUDA, node, range(8))
    assert _row(block, "copy engines") == "1 (copies overlap kernels, but not each other)"


def test_an_absent_backend_says_why_where_and_what_to_install() -> None:
    backend = Backend(
        name="cuda",
        looked_for=["libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"],
        absent_because="no such file",
        install="NVIDIA's driver, R525 or newer",
    )
    block = absent_block(backend)
    assert block.title == "cuda  not available"
    assert [(row.name, row.value) for row in block.facts] == [
        ("why", "no such file"),
        ("looked for", "libcuda.so.1, /usr/lib/wsl/lib/libcuda.so.1"),
        ("to get it", "NVIDIA's driver, R525 or newer"),
    ]
    assert [row.value for row in absent_block(Backend(name="opencl")).facts] == ["it has no device"]
