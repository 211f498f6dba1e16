"""The suspect hosts of a fleet, one a line as kubectl takes them, and nothing else."""

from typing import TextIO

from isthmus.document.document import Document
from isthmus.fleet import is_host_name


def write(document: Document, out: TextIO) -> None:
    """Write the names, without those that no tool would take for a host."""
    out.writelines(f"{host}\n" for host in document.subject.suspects if is_host_name(host))
