"""`isthmus devices`: what is here and what is missing, in plain words or as JSON."""

import os
from collections.abc import Collection
from typing import TYPE_CHECKING

import msgspec

from isthmus.commands._choices import ForceOption, JsonOption, OutputOption, flag
from isthmus.commands._output import format_of, format_option, write_report
from isthmus.record import Backend, Host

if TYPE_CHECKING:
    from isthmus.document.document import Document


class Inventory(msgspec.Struct, frozen=True, kw_only=True):
    """What ``--json`` prints; `default_device` is a name that ``--device`` takes, empty if there is no device."""

    format: str = "isthmus.devices"
    backends: list[Backend]
    host: Host
    default_device: str


def devices(
    as_json: JsonOption = False,
    idle: bool = flag("--idle", "Leave the links idle: faster, but not read under load."),
    format_name: str | None = format_option("devices"),
    output: OutputOption = None,
    force: ForceOption = False,
) -> None:
    """Show the devices, what is missing and how to get it, and the settings of this host that matter to transfers."""
    from isthmus.machine.devices import probe
    from isthmus.machine.fingerprint import with_busy_links
    from isthmus.machine.host import read_host

    chosen = format_of("devices", format_name, output, as_json=as_json, force=force)
    backends = probe() if idle else with_busy_links(probe())
    write_report(describe(backends, read_host(), os.sched_getaffinity(0)), chosen, output)


def describe(backends: list[Backend], host: Host, allowed_cpus: Collection[int]) -> "Document":
    """The device taken by default, every device, absent backends, then the host.

    `allowed_cpus` are those that the process may run on.
    """
    from isthmus.commands._machine_words import absent_block, device_block, host_block
    from isthmus.document.document import Data, Document, Machines
    from isthmus.machine.devices import default_device

    chosen = default_device(backends)
    title = f"isthmus measure takes {chosen.spec} by default; --device takes another." if chosen else "No device."
    every = [(device, backend) for backend in backends for device in backend.devices]
    machines = [device_block(device, backend, host, allowed_cpus) for device, backend in every]
    machines += [absent_block(backend) for backend in backends if not backend.devices]
    has_own_memory = any(device.crosses_link for device, _ in every)
    machines.append(host_block(host, has_own_memory=has_own_memory))
    inventory = Inventory(backends=backends, host=host, default_device=chosen.spec if chosen else "")
    return Document("devices", title, (Machines(tuple(machines)),), data=Data(lambda: msgspec.to_builtins(inventory)))
