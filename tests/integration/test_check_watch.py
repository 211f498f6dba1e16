"""`isthmus-check --watch` over looks at links that were kept, and over a tree that a kernel could have."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.check_program import run_program


class Recorded:
    """Looks at one link, a second apart."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.corrected = self.replays = self.nonfatal = 0

    def look(self, generation: int = 5, width: int = 16, busy: int | None = 0) -> None:
        """NVML is asked each tenth time."""
        asked = busy is not None and len(self.lines) % 10 == 0
        tail = f"{busy} {self.replays}" if asked else "- -"
        at = len(self.lines)
        self.lines.append(f"{at} 0000:3b:00.0 {generation} {width} 5 {self.corrected} {self.nonfatal} 0 {tail}")

    def reports(self) -> tuple[list[str], int]:
        ended = run_program(None, "--watch", "--looks", "-", stdin="\n".join(self.lines) + "\n")
        *reports, last = ended.stdout.splitlines()
        assert "0000:3b:00.0" in last
        return reports, ended.returncode


def _flaps() -> Iterator[Recorded]:
    """Twenty links that flap after some time of work and rest."""
    for at in range(20):
        record = Recorded()
        for second in range(200 + 13 * at):
            is_busy = second // 50 % 2 == 0
            record.look(5 if is_busy else 1, busy=70 if is_busy else 0)
        for second in range(40):
            if at % 5 == 0:
                record.look(width=8 if second < 5 else 16, busy=70)
            elif at % 5 == 1:
                record.look(generation=3 - at // 10, busy=90)
            elif at % 5 == 2:
                record.corrected += 1
                record.look(busy=60)
            elif at % 5 == 3:
                record.replays += 30
                record.look(busy=60)
            else:
                record.nonfatal = 1
                record.look(busy=10)
        yield record


@pytest.mark.parametrize("record", list(_flaps()), ids=map(str, range(20)))
def test_a_flap_is_reported(record: Recorded) -> None:
    reports, code = record.reports()
    assert reports
    assert code == 1


def test_a_link_that_is_gone_is_reported_once() -> None:
    record = Recorded()
    for _ in range(5):
        record.look(busy=None)
    for _ in range(30):
        record.look(generation=0, width=0, busy=None)
    reports, code = record.reports()
    assert [report for report in reports if "no longer visible" in report] == reports
    assert (len(reports), code) == (1, 1)


def test_a_day_of_noise_is_not(node: Path) -> None:
    """Work and rest of odd lengths, rests that NVML calls busy, a corrected error now and then, replays, sleep."""
    record = Recorded()
    second = 0
    while second < 86_400:
        work, rest = 7 + second % 61, 3 + second % 89
        for at in range(work + rest):
            is_busy = at < work
            # What NVML says is of a moment ago.
            record.look(5 if is_busy else 1 + at % 2, busy=80 if at < work + 2 else 0)
            if (second + at) % 900 == 0:
                record.corrected += 1
            if (second + at) % 120 == 0:
                record.replays += 1
        for _ in range(5):
            record.lines.append(f"{len(record.lines)} 0000:3b:00.0 asleep")
        second += work + rest + 5
    reports, code = record.reports()
    assert (reports, code) == ([], 0)


def test_what_a_guest_cannot_see_is_not_right() -> None:
    record = Recorded()
    for _ in range(30):
        record.look(0, 0, busy=None)
    ended = run_program(None, "--watch", "--looks", "-", stdin="\n".join(record.lines))
    assert ended.returncode == 3
    assert ended.stdout == "UNKNOWN 0000:3b:00.0 the link is not visible\n"


def test_watching_reads_the_kernel_and_wakes_nothing(tmp_path: Path) -> None:
    """Devices by their files: one that is awake, and one that sleeps, whose link is not read."""
    for address, status in (("0000:3b:00.0", "active"), ("0000:5e:00.0", "suspended")):
        folder = tmp_path / "sys/bus/pci/devices" / address
        (folder / "power").mkdir(parents=True)
        (folder / "power/runtime_status").write_text(status + "\n")
        for name, text in (("class", "0x030200"), ("vendor", "0x10de"), ("current_link_width", "16")):
            (folder / name).write_text(text + "\n")
        (folder / "current_link_speed").write_text("32.0 GT/s PCIe\n")
        (folder / "aer_dev_correctable").write_text("RxErr 0\nTOTAL_ERR_COR 0\n")
    ended = run_program(None, "--watch", "--for", "0.1", "--root", str(tmp_path))
    expected = "OK 0000:3b:00.0 no flap, changes at rest: 0\nUNKNOWN 0000:5e:00.0 the link is not visible\n"
    assert ended.stdout == expected
