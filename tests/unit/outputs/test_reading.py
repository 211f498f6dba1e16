"""Outputs of other tools as runs: all layouts and ages, several together, and files that are not as they should be."""

import gzip
import io
import sys
from pathlib import Path

import pytest

from isthmus import _native
from isthmus.compare import judge_together
from isthmus.compare.rates import pinned_rates
from isthmus.errors import RunFileError
from isthmus.outputs import Outputs, opening
from isthmus.record import Run
from tests.unit.outputs import printed
from tests.unit.outputs.test_known_endings import AD102, H100, read

GB = 1e9
FINE, SLOW = (printed.both_ways([rate], [rate]) for rate in (55.0, 27.0))
BOTH = printed.both_ways([55.2, 54.0], [55.1, 53.9], [44.0, 43.0], [51.0, 50.0])


def rates(run: Run) -> dict[tuple[str, str, str], float]:
    """GB/s by method, direction and memory."""
    return {
        (case.method, case.direction or "", case.host_memory): round(
            case.bytes_moved / case.series[0].samples[0] / GB, 2
        )
        for case in run.cases
    }


def failure(text: str, folder: Path) -> str:
    with pytest.raises(RunFileError) as caught:
        read([text], folder)
    return str(caught.value)


def test_nvbandwidth_in_text_and_json(tmp_path: Path) -> None:
    text = read([printed.nvbandwidth(H100, BOTH)], tmp_path).runs
    assert [run.fingerprint.device.spec for run in text] == ["cuda:0", "cuda:1"]
    assert text[1].fingerprint.device.pci_address == "0000:11:00.0"
    assert rates(text[1]) == {
        ("copy", "h2d", "pinned"): 54.0,
        ("copy", "d2h", "pinned"): 53.9,
        ("duplex", "h2d", "pinned"): 43.0,
        ("duplex", "d2h", "pinned"): 50.0,
    }
    [run] = read([printed.nvbandwidth_json(H100, {test: each[:1] for test, each in BOTH.items()})], tmp_path).runs
    assert run.fingerprint.device.name == H100
    assert rates(run) == rates(text[0])


@pytest.mark.parametrize(
    ("text", "h2d"),
    [
        (printed.bandwidth_test("A", 26.1, 25.6), 26.1),
        (printed.bandwidth_test("A", 11618.3, 12909.9, unit="MB/s"), 11.9),
        (printed.bandwidth_test("A", 11618.3, 12909.9, unit="MB/s").replace(".3", ",3"), 11.9),
        (printed.bandwidth_test("A", 24.3, 24.4, unit="GiB/s"), 26.09),
        (printed.old_bandwidth_test("GeForce 8800 GTX", 3000.0, 2900.0), 3.15),
        (
            "bandwidthTest-H2D-Pinned, Bandwidth = 12.2 GB/s, Time = 0.003 s, Size = 32000000 bytes, NumDevsUsed = 1\n",
            12.2,
        ),
    ],
    ids=["samples", "old samples", "comma", "binary", "SDK", "CSV"],
)
def test_bandwidth_test_of_all_ages(text: str, h2d: float, tmp_path: Path) -> None:
    [run] = read([text], tmp_path).runs
    assert rates(run)["copy", "h2d", "pinned"] == h2d


def test_dcgm_of_versions_three_and_four(tmp_path: Path) -> None:
    for version in (3, 4):
        runs = read([printed.dcgm([(13.08, 12.13, 22.42), (13.07, 12.12, 22.41)], version)], tmp_path).runs
        assert len(runs) == 2
        assert rates(runs[1])["copy", "both", "pinned"] == 22.41
        assert rates(runs[1])["copy", "h2d", "pinned"] == 12.12
    table = read([printed.dcgm_table([(13.08, 12.13, 22.42), (13.07, 12.12, 22.41)])], tmp_path).runs
    assert [rates(run) for run in table] == [
        rates(run) for run in read([printed.dcgm([(13.08, 12.13, 22.42), (13.07, 12.12, 22.41)])], tmp_path).runs
    ]


def test_figures_of_two_machines_are_told_apart(tmp_path: Path) -> None:
    outputs = read([printed.bandwidth_test("A", 12.4, 13.1), printed.bandwidth_test("A", 25.8, 25.7)], tmp_path)
    assert "the higher figures of the same copy of A, up to 2.1 times the lowest" in outputs.unread[0]


@pytest.mark.parametrize(
    "texts",
    [
        [printed.nvbandwidth(H100, FINE, host="node01"), printed.nvbandwidth(H100, SLOW, host="node02")],
        [printed.nvbandwidth(H100, FINE, host="node01") + printed.nvbandwidth(H100, SLOW, host="node02")],
        [printed.nvbandwidth_json(H100, FINE, host="node01"), printed.nvbandwidth_json(H100, SLOW, host="node02")],
        [
            printed.nvbandwidth_json(H100, FINE, listed_host="node01")
            + printed.nvbandwidth_json(H100, SLOW, listed_host="node02")
        ],
    ],
    ids=["text", "one file", "JSON", "JSON with hosts in its list"],
)
def test_devices_of_two_hosts_are_never_one(texts: list[str], tmp_path: Path) -> None:
    """Else a mean that was never measured hides the slow one."""
    for ordered in (texts, texts[::-1]):
        outputs = read(ordered, tmp_path)
        assert [run.fingerprint.host.name for run in outputs.runs] == ["node01", "node02"]
        assert [rates(run)["copy", "h2d", "pinned"] for run in outputs.runs] == [55.0, 27.0]
        assert not outputs.unread
    assert [health.level for _, health, _ in judge_together(outputs.runs)] == ["OK", "FAULT"]


def test_what_names_no_host_is_of_the_only_one_that_is_named(tmp_path: Path) -> None:
    query = printed.nvidia_smi(H100, (5, 5), (8, 16), busy=90)
    one, two = (printed.nvbandwidth(H100, FINE, host=host) for host in ("node01", "node02"))
    [run] = read([query, one], tmp_path).runs
    assert (run.fingerprint.host.name, run.fingerprint.device.link is None) == ("node01", False)
    several = read([one, query, two], tmp_path).runs
    assert [(run.fingerprint.host.name, run.fingerprint.device.link is None) for run in several] == [
        ("", False),
        ("node01", True),
        ("node02", True),
    ]
    # One file is of one host if it names one.
    together = read([one + query, two], tmp_path).runs
    assert [(run.fingerprint.host.name, run.fingerprint.device.link is None) for run in together] == [
        ("node01", False),
        ("node02", True),
    ]


def test_a_host_with_and_without_its_domain_is_one(tmp_path: Path) -> None:
    log = printed.off_bus("0000:10:00", "node01")
    [run] = read([printed.nvbandwidth(H100, FINE, host="node01.example.org"), log], tmp_path).runs
    assert run.fingerprint.host.name == "node01.example.org"
    assert run.fingerprint.device.conditions["off_bus"] == "Xid 79"
    hosts = ("node01.example.org", "node01.example.com")
    apart = read([printed.nvbandwidth(H100, FINE, host=host) for host in hosts], tmp_path).runs
    assert len(apart) == 2


def test_what_is_no_name_of_a_host_is_not_taken_for_one(tmp_path: Path) -> None:
    """It would come into the lines that programs read."""
    for host in ("node01\nOK", "\x1b]0;node01\x07", " "):
        [run] = read([printed.nvbandwidth_json(H100, FINE, host=host)], tmp_path).runs
        assert run.fingerprint.host.name == ""
    [run] = read([printed.nvbandwidth_json(H100, FINE, host="node01", listed_host="node02")], tmp_path).runs
    assert run.fingerprint.host.name == ""


def test_a_log_of_several_hosts_is_read_by_host(tmp_path: Path) -> None:
    log = printed.off_bus("0000:c3:00", "node01") + printed.off_bus("0000:c3:00", "node02")
    runs = read([log], tmp_path).runs
    assert [run.fingerprint.host.name for run in runs] == ["node01", "node02"]


def test_a_device_of_logs_alone_is_named_by_its_address(tmp_path: Path) -> None:
    """No output says which number it has, and no other device's must be taken for it."""
    [run] = read([printed.off_bus("0000:c3:00")], tmp_path).runs
    assert run.fingerprint.device.spec == "0000:c3:00.0"
    runs = read([printed.off_bus("0000:c3:00"), printed.nvbandwidth(H100, FINE)], tmp_path).runs
    assert [run.fingerprint.device.spec for run in runs] == ["cuda:0", "0000:c3:00.0"]
    [known] = read([printed.off_bus("0000:10:00"), printed.nvbandwidth(H100, FINE)], tmp_path).runs
    assert known.fingerprint.device.spec == "cuda:0"


@pytest.mark.parametrize(
    ("readings", "judged"),
    [((55.0, 54.5), 54.5), ((55.0, 54.0, 54.6), 54.6), ((55.0, 27.0), 27.0), ((55.0, 55.1, 30.0), 30.0)],
)
def test_readings_that_differ_are_judged_by_the_lowest(
    readings: tuple[float, ...], judged: float, tmp_path: Path
) -> None:
    """And the rate that is judged is always one that was printed."""
    texts = [printed.nvbandwidth(H100, printed.both_ways([rate], [])) + "\n" * at for at, rate in enumerate(readings)]
    [run] = read(texts, tmp_path).runs
    assert pinned_rates(run)["h2d"].rate == pytest.approx(judged * GB)


def test_a_quoted_output_of_the_first_version(tmp_path: Path) -> None:
    lines = ["> Running benchmark host_to_device_memcpy_ce.", "memcpy CE GPU(columns) <- CPU(rows) bandwidth (GB/s)"]
    text = "\n".join([*lines, "          0         1", "0     12.33      0.34", ""])
    assert [rates(run)["copy", "h2d", "pinned"] for run in read([text], tmp_path).runs] == [12.33, 0.34]


def test_transfer_bench_tells_kernels_from_engines(tmp_path: Path) -> None:
    gfx = read([printed.transfer_bench([42.0, 41.0], [55.2, 55.1], [96.0, 95.0])], tmp_path).runs
    assert rates(gfx[1])["kernel", "h2d", "pinned"] == 41.0
    assert rates(gfx[1])["kernel", "d2h", "pinned"] == 55.1
    [dma] = read([printed.transfer_bench([54.0], [55.2], [96.0], executor="DMA")], tmp_path).runs
    assert rates(dma)["copy", "both", "pinned"] == 96.0
    line = " Transfer 00      |  28.350 GB/s |    2.002 ms |     67108864 bytes | C0 -> {}:004 -> G1\n"
    for executor, method in (("GPU00", "kernel"), ("D00", "copy")):
        [run] = read(["Test 1:\n" + line.format(executor)], tmp_path).runs
        assert rates(run) == {(method, "h2d", "pinned"): 28.35}
        assert run.fingerprint.device.spec == "rocm:1"


def test_outputs_of_one_machine_come_together(tmp_path: Path) -> None:
    """By address, by number, and with the port above a card; in several files or one after the other in one."""
    texts = [
        printed.nvidia_smi(H100, (5, 5), (16, 16), gpus=2, replays=7),
        printed.topology([0, 1]),
        printed.dcgm([(55.0, 55.2, 95.0), (54.0, 54.2, 94.0)]),
        printed.lspci("GH100 [H100 SXM5 80GB]", "32GT/s, Width x16", "32GT/s, Width x16", port="32GT/s, Width x16"),
    ]
    several = read(texts, tmp_path).runs
    assert len(several) == 2
    device = several[0].fingerprint.device
    assert (device.name, device.numa_node, several[1].fingerprint.device.numa_node) == (H100, 0, 1)
    assert device.link
    assert (device.link.source, device.link.replays, device.link.generation_under_load) == ("lspci with port", 7, 5)
    texts[2] = printed.nvbandwidth(H100, BOTH)
    together = read(["\n".join(texts)], tmp_path).runs
    assert len(together) == 2
    assert rates(together[0])["copy", "h2d", "pinned"] == 55.2
    assert [run.fingerprint.device.name for run in together] == [H100] * 2


def test_lines_that_were_searched_for_are_a_link(tmp_path: Path) -> None:
    lines = "LnkCap: Port #0, Speed 16GT/s, Width x16\nLnkSta: Speed 8GT/s (downgraded), Width x16 (ok)\n"
    link = read([lines], tmp_path).runs[0].fingerprint.device.link
    assert link
    assert (link.generation, link.max_generation, link.source) == (3, 4, "lspci")


def test_a_part_of_a_query_is_a_link(tmp_path: Path) -> None:
    whole = printed.nvidia_smi("NVIDIA L40S", (1, 4), (16, 16))
    part = whole[whole.index("        GPU Link Info") : whole.index("        Replays")]
    link = read([part], tmp_path).runs[0].fingerprint.device.link
    assert link
    assert (link.generation, link.max_generation, link.width) == (1, 4, 16)


def test_bus_grind_says_both_directions(tmp_path: Path) -> None:
    [run] = read([printed.bus_grind([56.83], [56.17], [101.26])], tmp_path).runs
    assert rates(run) == {
        ("copy", "d2h", "pinned"): 56.83,
        ("copy", "h2d", "pinned"): 56.17,
        ("copy", "both", "pinned"): 101.26,
    }


def test_a_number_in_place_of_a_name_is_known(tmp_path: Path) -> None:
    """Lists of devices that are older than the card name its number."""
    run = read([printed.lspci("Device 2330", "32GT/s, Width x16", "32GT/s, Width x16")], tmp_path).runs[0]
    assert _native.judge(run.fingerprint.device, [], [])["kind"] == H100


def test_several_files_may_be_packed_or_of_other_systems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = printed.nvbandwidth(H100, BOTH)
    packed, windows = tmp_path / "a.gz", tmp_path / "b.txt"
    packed.write_bytes(gzip.compress(text.encode()))
    windows.write_bytes(text.replace("\n", "\r\n").encode("utf-16"))
    for path in (packed, windows):
        assert len(opening.read_outputs([path]).runs) == 2
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert len(opening.read_outputs([Path("-")]).runs) == 2


def test_what_is_cut_off_is_said(tmp_path: Path) -> None:
    whole = printed.nvbandwidth(H100, BOTH)
    outputs: Outputs = read([whole[: whole.index("memcpy CE")]], tmp_path)
    assert "no rate between host and device: it ended before" in outputs.unread[0]
    assert [run.cases for run in outputs.runs] == [[], []]
    half = read([whole[: whole.index("SUM device_to_host_memcpy")]], tmp_path)
    assert ("copy", "d2h", "pinned") in rates(half.runs[0])
    assert "it ended before" in failure("nvbandwidth Version: v0.8\n", tmp_path)
    cut = printed.dcgm([(13.0, 12.0, 22.0)])
    assert "none of the outputs" in failure(cut[: len(cut) // 2], tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "it begins: '(nothing)'"),
        ("ls: cannot access 'x'\n", "it begins: \"ls: cannot access 'x'\""),
        ('{"format": "isthmus.run"}', "and no output of another tool; see it with: isthmus report"),
        ("| NVIDIA-SMI 550.54    Driver Version: 550.54 |\n", "give `nvidia-smi -q`, best while copies run"),
        (
            "\n".join(["[CUDA Bandwidth Test]", " Host to Device Bandwidth, 8 Device(s)", " PINNED Memory Transfers"]),
            "sums over 8",
        ),
        (printed.bandwidth_test("A", 1.0, 1.0, unit="Gbit/s"), "unit 'Gbit/s' is not one that it prints"),
        ('{"DCGM Diagnostic": {"test_categories": []}}', "no PCIe test: run `dcgmi diag -r pcie -j -v`"),
        (printed.dmesg("0000:00:1c.0", {"Corrected": 3}), "give `sudo lspci -vv`, too"),
        ("Device Access\n          D/D       0\n", "has no list of devices"),
        ("TransferBench v1.50\n(GPU-Executor: GFX)\n", "run `TransferBench p2p`"),
    ],
)
def test_what_cannot_be_read_is_said_plainly(text: str, message: str, tmp_path: Path) -> None:
    try:
        said = " ".join(read([text], tmp_path).unread)
    except RunFileError as error:
        said = str(error)
    assert message in said


def test_lspci_without_root_says_so(tmp_path: Path) -> None:
    text = printed.lspci(AD102, "16GT/s, Width x16", "8GT/s, Width x16")
    hidden = text[: text.index("\t\tLnkCap")] + "\tCapabilities: <access denied>\n"
    outputs = read([hidden], tmp_path)
    assert "sudo lspci -vv" in outputs.unread[0]
    assert outputs.runs[0].fingerprint.device.link is None
    assert outputs.runs[0].fingerprint.device.name == "NVIDIA GeForce RTX 4090"


def test_a_device_that_is_gone_has_no_link(tmp_path: Path) -> None:
    gone = printed.lspci(AD102, "unknown, Width x63", "unknown, Width x63").replace("(rev a1)", "(rev ff)")
    assert read([gone], tmp_path).runs[0].fingerprint.device.conditions["off_bus"]


def test_errors_are_counted_by_how_grave_they_are(tmp_path: Path) -> None:
    card = printed.lspci(AD102, "16GT/s, Width x16", "16GT/s, Width x16")
    logged = printed.dmesg("0000:10:00.0", {"Corrected": 3, "Uncorrected (Non-Fatal)": 2, "Uncorrected (Fatal)": 1})
    conditions = read([card, logged], tmp_path).runs[0].fingerprint.device.conditions
    assert conditions == {"aer_corrected": "3", "aer_nonfatal": "2", "aer_fatal": "1"}


def test_errors_of_both_ends_of_a_link_are_one_sum(tmp_path: Path) -> None:
    card = printed.lspci(AD102, "16GT/s, Width x16", "16GT/s, Width x16", port="16GT/s, Width x16")
    logged = [printed.dmesg("0000:10:00.0", {"Corrected": 1}), printed.dmesg("0000:00:01.1", {"Corrected": 40})]
    for texts in ([card, *logged], [card, *reversed(logged)]):
        [run] = read(texts, tmp_path).runs
        assert run.fingerprint.device.conditions == {"aer_corrected": "41"}
    # The same messages in two files are no more than in one.
    [run] = read([card, logged[1], logged[1] + "\n"], tmp_path).runs
    assert run.fingerprint.device.conditions == {"aer_corrected": "40"}


@pytest.mark.parametrize("name", ["Gpu", "GPU"])
def test_nvidia_smi_of_all_ages_says_that_a_device_is_busy(name: str, tmp_path: Path) -> None:
    text = printed.nvidia_smi(H100, (1, 5), (16, 16), busy=90).replace("        Gpu  ", f"        {name}  ")
    link = read([text], tmp_path).runs[0].fingerprint.device.link
    assert link
    assert link.generation_under_load == 1


@pytest.mark.parametrize("begin", ["\x1b[4m", "[4m", ""])
def test_a_terminal_s_colours_are_passed_over(begin: str, tmp_path: Path) -> None:
    plain = printed.topology([0, 1])
    header, _, rows = plain.partition("\n")
    end = begin.replace("4", "0")
    text = header.replace("\t", f"\t{begin}", 1) + f"{end}\n" + rows
    assert [run.fingerprint.device.numa_node for run in read([text], tmp_path).runs] == [0, 1]


def test_json_and_text_of_one_file_are_both_read(tmp_path: Path) -> None:
    """In either order, behind more lines than a log's first ones, and several documents."""
    smi = printed.nvidia_smi(H100, (5, 5), (16, 16), replays=7)
    rates_of = printed.dcgm([(55.0, 55.2, 95.0)])
    for text in (f"{smi}\n{rates_of}\n", f"{rates_of}\n{smi}", f"INFO: {rates_of}{rates_of}{smi}"):
        [run] = read([text], tmp_path).runs
        link = run.fingerprint.device.link
        assert link
        assert (link.replays, rates(run)["copy", "h2d", "pinned"]) == (7, 55.2)
    assert "nested more than 64 deep" in failure('{"a":' * 100_000, tmp_path)


def test_the_slot_of_a_card_with_a_switch_is_above_the_switch(tmp_path: Path) -> None:
    amd = "Advanced Micro Devices, Inc. [AMD/ATI]"
    link = "\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x{0}, ASPM L1\n\t\tLnkSta:\tSpeed 16GT/s, Width x{1}\n"
    bridges = [
        ("00:01.1", "Intel Corporation Device a70d (rev 01)", "02", 16, 4),
        ("02:00.0", f"{amd} Navi 10 XL Upstream Port of PCI Express Switch (rev 10)", "03", 16, 4),
        ("03:00.0", f"{amd} Navi 10 XL Downstream Port of PCI Express Switch (rev 10)", "04", 16, 16),
    ]
    text = "".join(
        f"{address} PCI bridge: {name}\n\tBus: primary=00, secondary={below}, subordinate=04\n" + link.format(most, now)
        for address, name, below, most, now in bridges
    )
    text += f"04:00.0 VGA compatible controller: {amd} Navi 31 [Radeon RX 7900 XT] (rev c8)\n" + link.format(16, 16)
    logged = [printed.dmesg(address, {"Corrected": count}) for address, count in (("00:01.1", 30), ("02:00.0", 10))]
    [run] = read([text, *(each.replace("pcieport ", "pcieport 0000:") for each in logged)], tmp_path).runs
    read_link = run.fingerprint.device.link
    assert read_link
    assert (read_link.width, read_link.max_width, read_link.source) == (4, 16, "lspci with port")
    assert run.fingerprint.device.conditions == {"aer_corrected": "40"}


def test_a_second_run_of_a_benchmark_counts_in_both_directions_alone(tmp_path: Path) -> None:
    first, second = (printed.transfer_bench([20.0 * at], [21.0 * at], [30.0 * at]) for at in (1, 2))
    [run] = read([first + second], tmp_path).runs
    assert rates(run) == {
        ("kernel", "h2d", "pinned"): 20.0,
        ("kernel", "d2h", "pinned"): 21.0,
        ("kernel", "both", "pinned"): 30.0,
    }


def test_errors_of_what_lspci_lists_as_no_gpu_are_not_asked_about(tmp_path: Path) -> None:
    card = printed.lspci(AD102, "16GT/s, Width x16", "16GT/s, Width x16", port="16GT/s, Width x16")
    disk = "02:00.0 Non-Volatile memory controller: Samsung NVMe SSD (rev 02)\n"
    outputs = read([card + disk, printed.dmesg("0000:02:00.0", {"Corrected": 3})], tmp_path)
    assert (len(outputs.runs), outputs.unread) == (1, [])


def test_a_bridge_that_leads_to_itself_is_no_way_up(tmp_path: Path) -> None:
    amd = "Advanced Micro Devices, Inc. [AMD/ATI] Navi"
    text = f"00:00.0 PCI bridge: {amd} 10 XL Downstream Port of PCI Express Switch\n\tBus: primary=00, secondary=00\n"
    text += f"00:01.0 VGA compatible controller: {amd} 31 [Radeon RX 7900 XT] (rev c8)\n"
    [run] = read([text], tmp_path).runs
    assert run.fingerprint.device.name == "AMD Radeon RX 7900 XT"


@pytest.mark.parametrize(
    "name",
    [
        *("Quadro RTX 6000", "Quadro P5000", "NVIDIA TITAN RTX", "Tesla P40", "GeForce GTX 970", "GeForce GTX 1660"),
        *("NVIDIA T1000", "NVIDIA A800-SXM4-80GB", "NVIDIA L20", "NVIDIA RTX A2000 12GB"),
    ],
)
def test_a_card_without_public_figures_is_held_against_its_own_link(name: str, tmp_path: Path) -> None:
    [(_, health, _)] = judge_together(read([printed.bandwidth_test(name, 3.1, 3.2)], tmp_path).runs)
    assert health.level == "ATTENTION"
    [(_, health, _)] = judge_together(read([printed.bandwidth_test(name, 24.6, 24.8)], tmp_path).runs)
    assert health.level == "OK"
