"""What tools print, made from figures: the layouts of their versions in our own words, for tests of their readers."""

import json
from collections.abc import Mapping, Sequence

Rates = Sequence[float | None]


def nvbandwidth(
    name: str, tests: Mapping[str, Rates], *, host: str = "node-7", end: str = "", comma: bool = False
) -> str:
    """Text of version 0.8; `tests` by their names, a figure a device."""
    devices = max((len(rates) for rates in tests.values()), default=1)
    lines = ["nvbandwidth Version: v0.8", "CUDA Runtime Version: 12080", "Driver Version: 570.86.10", "", host]
    lines += [f"Device {at}: {name} (00000000:{16 + at:02x}:00)" for at in range(devices)]
    for test, rates in tests.items():
        arrow = "<->" if "bidirectional" in test else "<-" if test.startswith("device") else "->"
        cells = "".join(f"{'N/A' if rate is None else format(rate, '.2f'):>10}" for rate in rates)
        lines += ["", f"Running {test}.", f"memcpy {test[-2:].upper()} CPU(row) {arrow} GPU(column) bandwidth (GB/s)"]
        lines += ["  " + "".join(f"{at:>10}" for at in range(devices)), " 0" + cells, ""]
        lines += [f"SUM {test} {sum(filter(None, rates)):.2f}"]
    text = "\n".join([*lines, end])
    return text.replace(".", ",") if comma else text


def both_ways(h2d: Rates, d2h: Rates, h2d_under: Rates = (), d2h_under: Rates = ()) -> Mapping[str, Rates]:
    """nvbandwidth's four tests of host and device by copy engines."""
    names = ("host_to_device", "device_to_host", "host_to_device_bidirectional", "device_to_host_bidirectional")
    return {
        f"{test}_memcpy_ce": rates for test, rates in zip(names, (h2d, d2h, h2d_under, d2h_under), strict=True) if rates
    }


def nvbandwidth_json(name: str, tests: Mapping[str, Rates], *, host: str = "", listed_host: str = "") -> str:
    """Versions differ in whether they name the host by itself, after each device, or nowhere."""
    cases = [
        {"name": test, "status": "Passed", "bandwidth_matrix": [[f"{rate}" for rate in rates]], "sum": 0.0}
        for test, rates in tests.items()
    ]
    device = f"0: {name} (00000000:01:00)" + f": ({listed_host})" * bool(listed_host)
    body = {"Driver Version": "565.02", "GPU Device list": [device], "testcases": cases}
    body |= {"Hostname": host} if host else {}
    return json.dumps({"nvbandwidth": body}, indent="\t")


def bandwidth_test(name: str, h2d: float, d2h: float, *, unit: str = "GB/s", memory: str = "PINNED") -> str:
    """The samples' table: 32000000 bytes and GB/s of the newer ones, 33554432 and MB/s of the older ones."""
    size = 32000000 if unit == "GB/s" else 33554432
    lines = ["[CUDA Bandwidth Test] - Starting...", "Running on...", "", f" Device 0: {name}", " Quick Mode", ""]
    for way, rate in (("Host to Device", h2d), ("Device to Host", d2h), ("Device to Device", 400.0)):
        lines += [f" {way} Bandwidth, 1 Device(s)", f" {memory} Memory Transfers"]
        lines += [f"   Transfer Size (Bytes)\tBandwidth({unit})", f"   {size}\t\t\t{rate}", ""]
    return "\n".join([*lines, "Result = PASS", ""])


def old_bandwidth_test(name: str, h2d: float, d2h: float) -> str:
    """Of the SDK before the samples: a dot for each size, MB of 2^20 bytes."""
    lines = ["Running on......", f"      device 0:{name}", "Quick Mode"]
    for way, rate in (("Host to Device", h2d), ("Device to Host", d2h)):
        lines += [f"{way} Bandwidth for Pinned memory", ".", "Transfer Size (Bytes)   Bandwidth(MB/s)"]
        lines += [f" 33554432               {rate}", ""]
    return "\n".join([*lines, "&&&& Test PASSED", ""])


def bus_grind(d2h: Rates, h2d: Rates, both: Rates) -> str:
    """The demo suite's busGrind -p 1 -u 0: one device at a time, then all at once, which says less of each."""
    stars = "*" * 73
    lines = [stars, "Test Description: Bus bandwidth between the host and a single device", stars]
    lines += [
        "Host/Device Bandwidth Matrix (GB/s), memory=Pinned",
        "   Dir\\D  " + "".join(f"{at:>7}" for at in range(len(d2h))),
    ]
    for name, rates in (("D2H", d2h), ("H2D", h2d), ("BiDir", both)):
        lines += [f"   {name:<6}" + "".join(f"{rate:>7.2f}" for rate in rates if rate)]
    lines += [
        stars,
        "Concurrent Host/Device Bandwidth Matrix (GB/s), memory=Pinned",
        "   H2D   " + "   9.00" * len(d2h),
    ]
    return "\n".join([*lines, stars, ""])


def dcgm(rates: Sequence[tuple[float, float, float]], version: int = 4) -> str:
    """`dcgmi diag -j`: D2H, H2D and both directions of each device; until version 3 all in one text."""
    words = ("GPU to Host bandwidth:\t\t", "Host to GPU bandwidth:\t\t", "bidirectional bandwidth:\t")
    infos = [[f"{word}{rate:.2f} GB/s" for word, rate in zip(words, each, strict=True)] for each in rates]
    results = [
        {"entity_group": "GPU", "entity_id": at, "status": "Pass", "info": info}
        if version > 3
        else {"gpu_ids": f"{at}", "status": "PASS", "info": ", ".join(f"GPU {at} {text}" for text in info)}
        for at, info in enumerate(infos)
    ]
    category = {"category": "Integration", "tests": [{"name": "pcie" if version > 3 else "PCIe", "results": results}]}
    return json.dumps({"DCGM Diagnostic": {"test_categories": [category]}}, indent=4)


def dcgm_table(rates: Sequence[tuple[float, float, float]]) -> str:
    """`dcgmi diag` without -j: a cell of 46 characters, in which words are cut anywhere."""
    words = (
        "GPU to Host bandwidth:  {:.2f} GB/s",
        "Host to GPU bandwidth:  {:.2f} GB/s",
        "bidirectional bandwidth: {:.2f} GB/s",
    )
    text = ", ".join(
        f"GPU {at} {word.format(rate)}" for at, each in enumerate(rates) for word, rate in zip(words, each, strict=True)
    )
    lines = ["| DCGM Version              | 3.3.1                                          |"]
    for at in range(0, len(text), 46):
        lines += [f"| {'' if at else 'Info':<25} | {text[at : at + 46]:<46} |"]
    return "\n".join([*lines, ""])


def rocm(
    gpus: Sequence[str], uni: Sequence[Sequence[float | None]], both: Sequence[Sequence[float | None]], cpus: int = 1
) -> str:
    """rocm-bandwidth-test -a: the host's nodes come first in both matrices."""
    lines = ["          RocmBandwidthTest Version: 2.6.0", ""]
    lines += [f"          Device: {at},  AMD EPYC 9554 64-Core Processor" for at in range(cpus)]
    lines += [
        f"          Device: {cpus + at},  {name},  GPU-{at:016x},  {at + 5:02x}:0.0" for at, name in enumerate(gpus)
    ]
    for title, matrix in (("Unidirectional", uni), ("Bidirectional", both)):
        lines += ["", f"          {title} copy peak bandwidth GB/s", ""]
        lines += ["          D/D       " + "".join(f"{at:<12}" for at in range(len(matrix)))]
        for at, row in enumerate(matrix):
            lines += [
                "",
                f"          {at}         "
                + "".join(f"{'N/A' if rate is None else format(rate, '.3f'):<12}" for rate in row),
            ]
    return "\n".join([*lines, ""])


def transfer_bench(h2d: Sequence[float], d2h: Sequence[float], both: Sequence[float], executor: str = "GFX") -> str:
    """TransferBench p2p with one node of the host."""
    head = "SRC+EXE\\DST    CPU 00    " + "".join(f"   GPU {at:02}" for at in range(len(h2d)))
    lines = [f"Unidirectional copy peak bandwidth GB/s [Local read / Remote write] (GPU-Executor: {executor})", head]
    lines += ["  CPU 00  ->     92.21" + "".join(f"{rate:>10.2f}" for rate in h2d)]
    lines += [f"  GPU {at:02}  ->   {rate:>8.2f}" + "     57.40" * len(d2h) for at, rate in enumerate(d2h)]
    lines += [
        "",
        f"Bidirectional copy peak bandwidth GB/s [Local read / Remote write] (GPU-Executor: {executor})",
        head,
    ]
    lines += [
        "  CPU 00  ->       N/A" + "     41.00" * len(both),
        "  CPU 00 <->       N/A" + "".join(f"{rate:>10.2f}" for rate in both),
    ]
    return "\n".join([*lines, ""])


def nvidia_smi(
    name: str,
    generation: tuple[int, int],
    width: tuple[int, int],
    *,
    busy: int = 0,
    replays: int = 0,
    gpus: int = 1,
    state: str = "P0",
) -> str:
    """`nvidia-smi -q`: generation and width now and at most."""
    text = "==============NVSMI LOG==============\n\nDriver Version                            : 570.86.10\n"
    for at in range(gpus):
        text += f"""
GPU 00000000:{16 + at:02X}:00.0
    Product Name                          : {name}
    GPU UUID                              : GPU-{at:08x}-0000-0000-0000-000000000000
    PCI
        GPU Link Info
            PCIe Generation
                Max                       : {generation[1]}
                Current                   : {generation[0]}
                Device Current            : {generation[0]}
                Host Max                  : {generation[1]}
            Link Width
                Max                       : {width[1]}x
                Current                   : {width[0]}x
        Replays Since Reset               : {replays}
    Performance State                     : {state}
    Utilization
        Gpu                               : {busy} %
        Memory                            : 0 %
"""
    return text


def topology(nodes: Sequence[int]) -> str:
    """`nvidia-smi topo -m`: the node of each GPU."""
    names = [f"GPU{at}" for at in range(len(nodes))]
    lines = ["\t" + "\t".join([*names, "CPU Affinity", "NUMA Affinity", "GPU NUMA ID"])]
    for at, node in enumerate(nodes):
        cells = [" X " if other == at else "PIX" if nodes[other] == node else "SYS" for other in range(len(nodes))]
        lines += ["\t".join([names[at], *cells, f"{32 * node}-{32 * node + 31}", str(node), "N/A"])]
    return "\n".join([*lines, "", "Legend:", "  PIX  = one PCIe bridge at most", ""])


def lspci(name: str, card: str, now: str, port: str = "") -> str:
    """`lspci -vv`: links such as ``16GT/s, Width x16``; the port above the card comes first where it is given."""
    above = f"""00:01.1 PCI bridge: Advanced Micro Devices, Inc. [AMD] Device 14ab (rev 01)
\tBus: primary=00, secondary=10, subordinate=10, sec-latency=0
\t\tLnkCap:\tPort #0, Speed {port}, ASPM L1
\t\tLnkSta:\tSpeed {now}
"""
    return (
        (above if port else "")
        + f"""10:00.0 VGA compatible controller: NVIDIA Corporation {name} (rev a1) (prog-if 00 [VGA controller])
\tNUMA node: 0
\t\tLnkCap:\tPort #0, Speed {card}, ASPM L1, Exit Latency L1 <16us
\t\tLnkSta:\tSpeed {now}
\tKernel driver in use: nvidia
"""
    )


def off_bus(address: str, host: str = "") -> str:
    """The kernel's line on a device that is gone, with a host as journalctl prints it."""
    begin = f"Nov  8 03:04:05 {host} kernel: " if host else "[ 99.1] "
    return f"{begin}NVRM: Xid (PCI:{address}): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.\n"


def dmesg(address: str, severities: Mapping[str, int]) -> str:
    """Lines of AER, as the kernel logs them, and of other things."""
    lines = ["[    0.000000] Linux version 6.8.0"]
    for severity, count in severities.items():
        lines += [
            f"[ {at}.5] pcieport {address}: PCIe Bus Error: severity={severity}, type=Physical Layer"
            for at in range(count)
        ]
    return "\n".join([*lines, ""])
