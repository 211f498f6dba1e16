"""The index of weights that are spread over several files: which tensor is in which of them."""

from pathlib import Path

from isthmus.errors import WeightsFileError
from isthmus.files import open_plain
from isthmus.weights.header import MOST_HEADER_BYTES, parse_object

SUFFIX = ".index.json"


def read_index(path: Path) -> dict[Path, set[str]]:
    """The files that an index (``*.safetensors.index.json``) names, and which tensors are in each.

    Files are next to the index: a name that leads anywhere else is refused. Raises WeightsFileError for what is no
    index, and OSError where it cannot be read.
    """
    with open_plain(path) as file:
        text = file.read(MOST_HEADER_BYTES + 1)
    if len(text) > MOST_HEADER_BYTES:
        raise WeightsFileError(f"{path}: more than {MOST_HEADER_BYTES} bytes; is it an index of safetensors files?")
    weight_map = parse_object(text, f"{path}: the index").get("weight_map")
    if not isinstance(weight_map, dict):
        raise WeightsFileError(f"{path}: no object weight_map, which says the file of each tensor")
    files: dict[Path, set[str]] = {}
    for tensor, name in weight_map.items():
        if not (isinstance(name, str) and name not in ("", ".", "..") and not set(name) & set("/\\\0")):
            raise WeightsFileError(
                f"{path}: the tensor {tensor[:80]!r} is said to be in {str(name)[:200]!r}; expected the name of a file "
                "beside the index"
            )
        files.setdefault(path.parent / name, set()).add(tensor)
    return files
