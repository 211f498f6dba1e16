"""`isthmus devices`: what is here and what is missing, in plain words or as JSON."""

import os
import sys
from collections.abc import Collection
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from isthmus.commands._choices import JsonOption
from isthmus.record import Backend, Host

if TYPE_CHECKING:
    from isthmus.commands._block import Block


class Inventory(msgspec.Struct, frozen=True, kw_only=True):
    """What ``--json`` prints; `default_device` is a name that ``--device`` takes, empty if there is no device."""

    backends: list[Backend]
    host: Host
    default_device: str


def devices(
    as_json: JsonOption = False,
    idle: Annotated[
        bool, typer.Option("--idle", help="Leave the links idle: faster, but not read under load.")
    ] = False,
) -> None:
    """Show the devices, what is missing and how to get it, and the settings of this host that matter to transfers."""
    from isthmus.machine.default_device import default_device
    from isthmus.machine.devices import probe
    from isthmus.machine.fingerprint import with_busy_links
    from isthmus.machine.host import read_host

    backends, host = probe() if idle else with_busy_links(probe()), read_host()
    if as_json:
        chosen = default_device(backends)
        inventory = Inventory(backends=backends, host=host, default_device=chosen.spec if chosen else "")
        typer.echo(msgspec.json.format(msgspec.json.encode(inventory), indent=2))
        return

    from rich.console import Console

    from isthmus.commands._block import print_block

    console = Console()
    # Captured, because rich ends the process when the reader of a pipe has gone; that is for main to judge.
    with console.capture() as captured:
        for block in describe(backends, host, os.sched_getaffinity(0)):
            print_block(console, block)
    sys.stdout.write(captured.get())


def describe(backends: list[Backend], host: Host, allowed_cpus: Collection[int]) -> "list[Block]":
    """The blocks to print: the device taken by default, every device, absent backends, then the host.

    `allowed_cpus` are those that the process may run on.
    """
    from isthmus.commands._block import Block
    from isthmus.commands._device_words import absent_block, device_block
    from isthmus.commands._host_words import host_block
    from isthmus.machine.default_device import default_device

    blocks: list[Block] = []
    chosen = default_device(backends)
    if chosen is not None:
        blocks.append(Block(f"isthmus measure takes {chosen.spec} by default; --device takes another."))
    every = [(device, backend) for backend in backends for device in backend.devices]
    blocks += [device_block(device, backend, host, allowed_cpus) for device, backend in every]
    blocks += [absent_block(backend) for backend in backends if not backend.devices]
    has_own_memory = any(not device.shares_host_memory and device.backend != "host" for device, _ in every)
    return [*blocks, host_block(host, has_own_memory=has_own_memory)]
