"""JSON from strangers: one object, no key twice, no numbers that JSON has not."""

import json
from typing import Any, NoReturn

from isthmus.errors import WeightsFileError


def parse_object(text: bytes, what: str) -> dict[str, Any]:
    """The object that a text is. Raises WeightsFileError, which begins with `what`, for anything else."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members = dict(pairs)
        if len(members) == len(pairs):
            return members
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise WeightsFileError(f"{what} names {twice[:80]!r} twice")

    def no_number(constant: str) -> NoReturn:
        raise WeightsFileError(f"{what} holds {constant}, which is no number of JSON")

    try:
        parsed = json.loads(text.decode(), object_pairs_hook=unique, parse_constant=no_number)
    except RecursionError:
        raise WeightsFileError(f"{what} nests its brackets more deeply than any file does") from None
    except WeightsFileError:
        raise
    except ValueError as error:  # of UTF-8, of JSON, and of integers with thousands of digits
        raise WeightsFileError(f"{what} is no JSON: {error}") from None
    if not isinstance(parsed, dict):
        raise WeightsFileError(f"{what} is a {type(parsed).__name__}; expected a JSON object")
    return parsed
