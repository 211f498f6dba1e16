"""Outputs after public threads whose ending is known, with the verdict each has to have; the figures are theirs."""

import io
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from isthmus.compare import judge_together
from isthmus.document.finding import TROUBLES, gravity
from isthmus.outputs import Outputs, read_outputs
from isthmus.report.outputs import outputs_document
from isthmus.report.renderers import terminal
from tests.unit.outputs import printed

H100 = "NVIDIA H100 80GB HBM3"
A100 = "NVIDIA A100-SXM4-40GB"
MI300X = (
    [41.97, 42.33, 42.50, 42.19, 41.56, 41.45, 41.31, 41.05],
    [55.23] * 8,
    [96.03, 96.70, 96.05, 96.06, 96.5, 96.54, 96.72, 96.52],
)
AD102 = "AD102 [GeForce RTX 4090]"

# By name: where it is from, the outputs, and level and topic of the worst device.
THREADS: Mapping[str, tuple[str, Sequence[str], str, str]] = {
    "one of four in a virtual machine": (
        "NVIDIA/nvbandwidth#6",
        [printed.nvbandwidth(H100, printed.both_ways([56.71, 57.05, 57.1, 14.2], []))],
        "FAULT",
        "rate",
    ),
    "kernels are slower than copy engines": (
        "NVIDIA/nvbandwidth#24",
        [printed.nvbandwidth(H100, {"host_to_device_memcpy_sm": [35.19] * 8, "device_to_host_memcpy_sm": [52.77] * 8})],
        "OK",
        "rate",
    ),
    "one direction under the other on an A100": (
        "NVIDIA/nvbandwidth#11",
        [printed.nvbandwidth(A100, printed.both_ways([25.6], [25.4], [12.6], [24.1]))],
        "OK",
        "rate",
    ),
    "both directions collapse on four of eight": (
        "NVIDIA/cuda-samples#357",
        [printed.bus_grind([56.8] * 8, [56.2] * 8, [101.26, 101.38, 101.4, 101.37, 89.2, 43.62, 7.25, 9.71])],
        "FAULT",
        "both",
    ),
    "eight cards for desktops": (
        "NVIDIA/nvbandwidth#15",
        [
            printed.nvbandwidth(
                "NVIDIA GeForce RTX 4090",
                printed.both_ways(
                    [25.5, 24.26, 23.9, 26.3, 26.28, 26.38, 26.09, 26.31],
                    [26.77, 26.47, 26.25, 26.63, 27.1, 27.11, 27.11, 26.83],
                ),
            )
        ],
        "OK",
        "rate",
    ),
    "a card of generation 5": (
        "tinygrad/open-gpu-kernel-modules#29",
        [
            printed.nvbandwidth(
                "NVIDIA GeForce RTX 5090", printed.both_ways([56.3] * 8, [57.3] * 8, [50.9] * 8, [50.9] * 8)
            )
        ],
        "OK",
        "rate",
    ),
    "an A10 from the far socket": (
        "drkennetz/cuda_examples#1",
        [printed.nvbandwidth("NVIDIA A10", printed.both_ways([25.13], []))],
        "OK",
        "rate",
    ),
    "a GH200 below the advertised rate": (
        "NVIDIA/nvbandwidth#23",
        [printed.nvbandwidth("NVIDIA GH200 480GB", printed.both_ways([346.0], [295.0], [160.0], [165.0]))],
        "OK",
        "rate",
    ),
    "a P100 from the near socket": (
        "mpicbg-scicomp/gearshifft#82",
        [printed.bandwidth_test("Tesla P100-PCIE-16GB", 12.15, 12.89)],
        "OK",
        "rate",
    ),
    "a P100 from the far socket": (
        "mpicbg-scicomp/gearshifft#82",
        [printed.bandwidth_test("Tesla P100-PCIE-16GB", 3.8, 2.5)],
        "ATTENTION",
        "rate",
    ),
    "a third less than the wire": (
        "vetter/shoc#79",
        [printed.bandwidth_test("NVIDIA GeForce GTX 1660 Ti", 12.1, 12.4)],
        "OK",
        "rate",
    ),
    "pageable memory alone": (
        "vetter/shoc#79",
        [printed.bandwidth_test("NVIDIA GeForce GTX 1660 Ti", 6.1, 5.8, memory="PAGEABLE")],
        "none",
        "nothing_pinned",
    ),
    "an A100 in a host of generation 3": (
        "router-gao/cuda-demo",
        [printed.bandwidth_test(A100, 12.3, 13.2)],
        "ATTENTION",
        "rate",
    ),
    "a T4 in a virtual machine": (
        "router-gao/cuda-demo",
        [printed.bandwidth_test("Tesla T4", 9.7, 11.1)],
        "ATTENTION",
        "rate",
    ),
    "two sockets with MI100s": (
        "ROCm/rccl#1370",
        [
            printed.rocm(
                ["AMD Instinct MI100"] * 2,
                [
                    [None, None, 28.349, 26.813],
                    [None, None, 24.861, 28.351],
                    [28.527, 25.018, 925.9, 48.9],
                    [11.283, 28.531, 49.9, 887.7],
                ],
                [
                    [None, None, 51.807, 26.001],
                    [None, None, 24.885, 51.804],
                    [51.807, 24.885, None, 97.7],
                    [26.001, 51.804, 97.7, None],
                ],
                cpus=2,
            )
        ],
        "OK",
        "rate",
    ),
    "the same rates from every node": (
        "ROCm/rocm_bandwidth_test#129",
        [
            printed.rocm(
                ["AMD Instinct MI210"],
                [[None, None, 28.0], [None, None, 28.0], [28.0, 28.0, 1200.0]],
                [[None, None, 45.0], [None, None, 45.0], [45.0, 45.0, None]],
                cpus=2,
            )
        ],
        "OK",
        "rate",
    ),
    "a Radeon on generation 4": (
        "ROCm/legacy-rocm-build#2253",
        [printed.rocm(["AMD Radeon RX 7900 XTX"], [[None, 28.41], [29.01, 800.0]], [[None, 48.2], [48.2, None]])],
        "OK",
        "rate",
    ),
    "memory that host and device share": (
        "lhl's page on Strix Halo",
        [printed.rocm(["AMD Radeon 8060S"], [[None, 84.364], [84.147, 212.419]], [[None, 83.489], [83.489, None]])],
        "none",
        "rate",
    ),
    "eight MI300X as accepted": ("AMD's acceptance page", [printed.transfer_bench(*MI300X)], "OK", "rate"),
    "a link at rest": (
        "janhq/jan#183",
        [printed.lspci(AD102, "16GT/s, Width x16", "2.5GT/s (downgraded), Width x16 (ok)")],
        "note",
        "link_idle",
    ),
    "at rest, by the driver": (
        "Syllo/nvtop#6",
        [printed.nvidia_smi("NVIDIA GeForce GTX 1080 Ti", (1, 3), (16, 16))],
        "note",
        "link_idle",
    ),
    "a desktop that draws its screen": (
        "baaz.dev on links of generation 1",
        [printed.nvidia_smi("NVIDIA GeForce RTX 3090", (1, 4), (16, 16), busy=37, state="P8")],
        "note",
        "link_idle",
    ),
    "at rest, and fast when it copies": (
        "xaskasdf/ntransformer#5",
        [
            printed.nvidia_smi("NVIDIA GeForce RTX 3090", (1, 4), (16, 16)),
            printed.bandwidth_test("NVIDIA GeForce RTX 3090", 25.1, 26.0),
        ],
        "OK",
        "rate",
    ),
    "busy by the driver, at rest by the kernel": (
        "open-mpi/hwloc#653",
        [
            printed.nvidia_smi("NVIDIA GeForce RTX 4090", (4, 4), (16, 16), busy=95),
            printed.lspci(AD102, "16GT/s, Width x16", "2.5GT/s (downgraded), Width x16", port="16GT/s, Width x16"),
        ],
        "OK",
        "link",
    ),
    "trained down for hours of work": (
        "NVIDIA/open-gpu-kernel-modules#1010",
        [printed.nvidia_smi("NVIDIA RTX PRO 6000 Blackwell Server Edition", (2, 5), (16, 16), busy=97)],
        "FAULT",
        "link",
    ),
    "half of the lanes under load": (
        "NVIDIA/NVSentinel#890",
        [printed.nvidia_smi(H100, (5, 5), (8, 16), busy=100)],
        "FAULT",
        "link",
    ),
    "a slot with half of the lanes": (
        "discuss.pytorch.org/t/208262",
        [printed.lspci(AD102, "16GT/s, Width x16", "8GT/s, Width x8", port="8GT/s, Width x8")],
        "OK",
        "link",
    ),
    "a riser that loses lanes": (
        "tinygrad/open-gpu-kernel-modules#6",
        [
            printed.lspci(AD102, "16GT/s, Width x16", "16GT/s, Width x4 (downgraded)", port="16GT/s, Width x16"),
            printed.bandwidth_test("NVIDIA GeForce RTX 4090", 6.4, 6.6),
        ],
        "FAULT",
        "link",
    ),
    "fewer lanes than the card, slot not shown": (
        "crashless.app on reduced lanes",
        [printed.nvidia_smi("NVIDIA GeForce RTX 3090", (4, 4), (8, 16))],
        "ATTENTION",
        "link",
    ),
    "corrected errors by the dozen": (
        "access.redhat.com/solutions/56302",
        [
            printed.lspci(AD102, "16GT/s, Width x16", "16GT/s, Width x16", port="16GT/s, Width x16"),
            printed.dmesg("0000:00:01.1", {"Corrected": 40}),
        ],
        "ATTENTION",
        "aer",
    ),
    "off the bus": ("NVIDIA's Xid 79", [printed.off_bus("0000:41:00")], "FAULT", "off_bus"),
    "millions of replays": (
        "a redriver of generation 4 under a card of generation 5",
        [printed.nvidia_smi("NVIDIA GeForce RTX 5060 Ti", (5, 5), (8, 8), replays=13_000_000, busy=90)],
        "OK",
        "link",
    ),
}


def read(texts: Sequence[str], folder: Path) -> Outputs:
    paths = [folder / f"{at}.txt" for at in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text, "utf-8")
    return read_outputs(paths)


@pytest.mark.parametrize("name", THREADS)
def test_a_thread_gets_its_verdict(name: str, tmp_path: Path) -> None:
    _, texts, level, topic = THREADS[name]
    outputs = read(texts, tmp_path)
    assert not outputs.unread
    checked = judge_together(outputs.runs)
    worst = min((health for _, health, _ in checked), key=lambda health: gravity(health.level))
    assert (worst.level, worst.points[0].topic) == (level, topic), worst.points
    for columns in (80, 120):
        screen = io.StringIO()
        terminal.write(outputs_document(checked, outputs.unread, columns=columns), screen, width=columns)
        assert screen.getvalue().count("\n") <= 15, screen.getvalue()
    assert all(point.do or point.cause for point in worst.points if point.level in TROUBLES)


def test_the_worst_of_those_at_fault_is_shown(tmp_path: Path) -> None:
    _, texts, _, _ = THREADS["both directions collapse on four of eight"]
    outputs = read(texts, tmp_path)
    screen = io.StringIO()
    terminal.write(outputs_document(judge_together(outputs.runs), outputs.unread, columns=80), screen, width=80)
    assert screen.getvalue().startswith("FAULT  cuda:6 ")
    assert "FAULT  2 more (cuda:7, cuda:5)" in screen.getvalue()


def test_no_healthy_thread_is_a_fault() -> None:
    levels = [level for _, _, level, _ in THREADS.values()]
    assert len(levels) >= 20
    assert levels.count("FAULT") < levels.count("OK")
