"""Opening a device by name, and what is said when it is not here."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from isthmus import _native
from isthmus.errors import DeviceAbsent, UsageError
from isthmus.machine import devices
from isthmus.machine.devices import name_in_turn, neighbours, open_device, probe


def info(backend: str, index: int, **changes: object) -> dict[str, object]:
    """What the core tells of a device."""
    link = dict.fromkeys(("generation", "width", "max_generation", "max_width"))
    return {
        "backend": backend,
        "index": index,
        "name": "GPU",
        "pci_address": "",
        "link": link,
        "conditions": {},
    } | changes


def listing(name: str, *found: dict[str, object], absent_because: str = "") -> dict[str, object]:
    return {
        "name": name,
        "devices": list(found),
        "library": "",
        "looked_for": [f"lib{name}.so.1"],
        "absent_because": absent_because,
        "is_parents": False,
    }


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Makes the core find these backends, whatever is on this machine."""

    def find(*listings: dict[str, object]) -> None:
        known = {str(each["name"]): each for each in listings}
        monkeypatch.setattr(_native, "list_devices", lambda name, _: known.get(name) or listing(name))

    return find


NO_CUDA = listing("cuda", absent_because="libcuda.so.1: cannot open shared object file")
HOST = listing("host", info("host", 0))


def test_every_backend_is_listed_whether_it_has_devices_or_not() -> None:
    backends = {backend.name: backend for backend in probe()}
    assert list(backends) == ["cuda", "opencl", "host"]
    assert [device.spec for device in backends["host"].devices] == ["host"]
    for backend in backends.values():
        assert backend.devices or backend.absent_because
        # With devices: of others that cannot be used, such as a PoCL that does not know this CPU beside one that does.
        assert bool(backend.install) == bool(backend.absent_because)


def test_the_host_is_always_there() -> None:
    opened = open_device("host")
    assert opened.description.spec == "host"
    assert opened.native.info["backend"] == "host"


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("cudda:0", "no backend 'cudda'; did you mean cuda?"),
        ("opncl", "no backend 'opncl'; did you mean opencl?"),
        ("xyz:1", "no backend 'xyz'; there are cuda, opencl, host"),
        ("1", "no device '1'; expected such as cuda:1"),
        ("", "no backend ''; there are cuda, opencl, host"),
        ("cuda:one", "not a device: 'cuda:one'; expected cuda:NUMBER, such as cuda:0"),
        ("opencl:-1", "not a device: 'opencl:-1'; expected opencl:NUMBER, such as opencl:0"),
        ("opencl:0:1", "not a device: 'opencl:0:1'"),
        ("host:speed=3", "host device: cannot read 'speed=3'; expected rate="),
    ],
)
def test_a_name_that_makes_no_sense_is_a_usage_error(spec: str, message: str) -> None:
    with pytest.raises(UsageError) as refusal:
        open_device(spec)
    assert str(refusal.value).startswith(message)


def test_a_number_too_high_lists_what_is_there(found: Callable[..., None]) -> None:
    found(listing("cuda", info("cuda", 0), info("cuda", 1)), HOST)
    with pytest.raises(DeviceAbsent) as absent:
        open_device("cuda:2")
    assert str(absent.value) == "no device cuda:2 here; found cuda:0, cuda:1"


@pytest.mark.parametrize("spec", ["cuda", "cuda:0", "cuda:7"])
def test_a_backend_without_devices_says_what_was_looked_for_and_what_to_do(
    found: Callable[..., None], spec: str
) -> None:
    found(NO_CUDA, HOST)
    with pytest.raises(DeviceAbsent) as absent:
        open_device(spec)
    message = str(absent.value)
    assert message.startswith("no cuda device here; looked for libcuda.so.1: libcuda.so.1: cannot open")
    assert "install NVIDIA's driver until nvidia-smi works" in message


def test_no_device_at_all(found: Callable[..., None]) -> None:
    found(NO_CUDA)
    with pytest.raises(DeviceAbsent, match="no device at all"):
        open_device(None)


def test_without_a_name_the_best_device_is_opened(found: Callable[..., None]) -> None:
    found(NO_CUDA, HOST)
    assert open_device(None).description.spec == "host"


def test_cuda_on_this_machine() -> None:
    cuda = next(backend for backend in probe() if backend.name == "cuda")
    if cuda.devices:
        pytest.skip("a GPU is present: nothing is missing")
    assert "libcuda.so.1" in cuda.looked_for
    assert "libcuda.so.1" in cuda.absent_because
    assert "nvidia-smi" in cuda.install
    with pytest.raises(DeviceAbsent, match=r"looked for libcuda\.so\.1"):
        open_device("cuda:0")


def test_the_link_the_vendor_reads_is_taken(found: Callable[..., None]) -> None:
    reading = {"generation": 4, "width": 16, "max_generation": 5, "max_width": 16}
    found(listing("cuda", info("cuda", 0, link=reading)), HOST)
    link = probe()[0].devices[0].link
    assert link
    assert (link.generation, link.width, link.max_generation, link.max_width) == (4, 16, 5, 16)
    assert link.source == "NVML"


def pocl(index: int = 0) -> dict[str, object]:
    return info("opencl", index, conditions={"platform": "Portable Computing Language, OpenCL 3.0"})


def test_pocl_is_not_offered_where_it_could_not_link(
    found: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    found(listing("opencl", pocl()), HOST)
    [opencl] = probe(["opencl"])
    assert opencl.devices == []
    assert "`ld`, which is not on PATH" in opencl.absent_because
    assert "apt-get install binutils" in opencl.install
    with pytest.raises(DeviceAbsent, match="apt-get install binutils"):
        open_device("opencl:0")


@pytest.mark.parametrize(
    ("processor", "command"), [("aarch64", "apt install pocl-opencl-icd"), ("x86_64", "pip install")]
)
def test_what_brings_pocl_is_there_for_the_processor(
    found: Callable[..., None], monkeypatch: pytest.MonkeyPatch, processor: str, command: str
) -> None:
    monkeypatch.setattr("platform.machine", lambda: processor)
    found(listing("opencl", absent_because="libOpenCL.so.1: cannot open shared object file"))
    assert probe(["opencl"])[0].install.startswith(command)


def test_a_gpu_beside_such_a_pocl_is_still_offered(found: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    found(listing("opencl", info("opencl", 0), pocl(1)), HOST)
    [opencl] = probe(["opencl"])
    assert [device.spec for device in opencl.devices] == ["opencl:0"]
    assert "`ld`" in opencl.absent_because
    assert "binutils" in opencl.install


def test_pocl_is_not_offered_on_a_cpu_that_its_compiler_does_not_know(found: Callable[..., None]) -> None:
    version = "OpenCL 3.0 PoCL HSTR: pthread-x86_64-unknown-linux-gnu-"
    found(listing("opencl", pocl() | {"api_version": version + "generic", "driver_version": "3.0"}), HOST)
    [opencl] = probe(["opencl"])
    assert opencl.devices == []
    assert "PoCL 3.0 is installed, but its compiler is older than this CPU" in opencl.absent_because
    assert "intel-opencl-rt" in opencl.install
    assert "apt install pocl-opencl-icd" in opencl.install
    found(listing("opencl", pocl() | {"api_version": version + "haswell"}), HOST)
    assert [device.spec for device in probe(["opencl"])[0].devices] == ["opencl:0"]


def test_drivers_that_are_packages_of_python_are_opened_from_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As pip lays out Intel's: two files of one library, beside others."""
    packages = tmp_path / "lib" / "python3" / "site-packages"
    record = packages / "intel_opencl_rt-2026.2.0.dist-info" / "RECORD"
    record.parent.mkdir(parents=True)
    record.with_name("METADATA").write_text(
        "Metadata-Version: 2.1\nName: intel-opencl-rt\nVersion: 2026.2.0\n", "utf-8"
    )
    names = ("libOpenCL.so", "libintelocl.so", "libintelocl.so.2026.22", "libintelocl.so-gdb.py")
    record.write_text("".join(f"../../{name},,\n" for name in names), "utf-8")
    monkeypatch.syspath_prepend(str(packages))
    opened = [Path(path).resolve() for path in devices._drivers("opencl")]
    assert [path.name for path in opened if not path.name.startswith("libpocl")] == ["libintelocl.so"]
    assert tmp_path / "lib" / "libintelocl.so" in opened


def test_this_machines_pocl_without_a_linker() -> None:
    """In a process of its own: were it offered all the same, using it would end the process."""
    if not any(map(devices._is_pocl, (device for backend in probe() for device in backend.devices))):
        pytest.skip("needs PoCL: pip install '.[cpu]', and binutils")
    code = (
        "from isthmus.machine.devices import probe\n"
        "opencl = next(backend for backend in probe() if backend.name == 'opencl')\n"
        "print([device.name for device in opencl.devices], opencl.absent_because, opencl.install)"
    )
    environment = os.environ | {"PATH": "", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert "binutils" in done.stdout
    assert "pthread" not in done.stdout


@pytest.mark.parametrize(
    ("spec", "local_rank", "expected"),
    [
        (None, 0, "cuda:0"),
        (None, 2, "cuda:2"),
        (None, 4, "cuda:1"),
        ("cuda", 1, "cuda:1"),
        ("CUDA", 1, "cuda:1"),
        ("cuda:0", 1, "cuda:0"),
        ("host", 1, "host"),
        ("host:rate=1GB/s", 1, "host:rate=1GB/s"),
    ],
)
def test_ranks_take_devices_in_turn_unless_one_is_named(
    found: Callable[..., None], spec: str | None, local_rank: int, expected: str
) -> None:
    found(listing("cuda", *(info("cuda", at, pci_address=f"0000:{at}1:00.0") for at in range(3))), HOST)
    assert name_in_turn(spec, local_rank) == expected


@pytest.mark.parametrize("spec", ["cuda:0", "cuda", None])
def test_opencls_drivers_are_not_loaded_for_a_device_of_cuda(monkeypatch: pytest.MonkeyPatch, spec: str | None) -> None:
    asked = []

    def list_devices(name: str, drivers: list[str]) -> dict[str, object]:
        asked.append((name, drivers))
        return listing(name, info(name, 0))

    monkeypatch.setattr(_native, "list_devices", list_devices)
    assert devices.choose_device(spec).spec == "cuda:0"
    assert asked == [("cuda", [])]


def test_a_turn_among_devices_of_no_backend_is_an_error() -> None:
    with pytest.raises(UsageError, match="did you mean cuda"):
        name_in_turn("cudda", 0)


def test_neighbours_are_the_hardware_of_one_backend_that_can_work_at_once(found: Callable[..., None]) -> None:
    found(
        listing("cuda", info("cuda", 0, pci_address="0000:01:00.0")),
        listing(
            "opencl",
            info("opencl", 0, pci_address="0000:01:00.0", shares_host_memory=False),
            info("opencl", 1, pci_address="0000:02:00.0", shares_host_memory=False),
            # The first card once more, by another driver, and a card that does not tell where it is.
            info("opencl", 2, pci_address="0000:01:00.0", shares_host_memory=False),
            info("opencl", 3, shares_host_memory=False),
            info("opencl", 4, shares_host_memory=True),
        ),
        HOST,
    )
    cuda, opencl = probe(["cuda", "opencl"])
    cards = {device.index: device for device in opencl.devices}
    assert [device.index for device in neighbours(cards[1])] == [0, 1, 3]
    # The device of the run is always among them.
    assert [device.index for device in neighbours(cards[2])] == [1, 2, 3]
    assert neighbours(cards[4]) == [cards[4]]
    assert neighbours(cuda.devices[0]) == cuda.devices
