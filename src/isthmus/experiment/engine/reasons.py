"""Why a case could not be measured, as its note says it."""

import msgspec

from isthmus.errors import CallFailed, IsthmusError, OutOfMemory
from isthmus.record import Case


def reason_of(error: IsthmusError, where: str = "") -> str:
    """The note of an error, led by where it happened; one that a device should not have made begins with ``failed:``.

    A lack of memory, or of memory that may be locked, is a property of the machine like any other.
    """
    is_failure = isinstance(error, CallFailed) and not isinstance(error, OutOfMemory)
    return f"{'failed: ' if is_failure else ''}{where}{error}"


def skipped_case(case: Case, reason: str) -> Case:
    """The case without results, for this reason."""
    return msgspec.structs.replace(case, skipped=True, note=reason)
