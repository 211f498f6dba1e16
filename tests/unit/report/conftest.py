"""What tests of reports share: a cache of their own, and figures written to a string."""

import io
from collections.abc import Callable, Iterator

import pytest

from isthmus.record import Run
from isthmus.report import write


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def rendered() -> Callable[..., str]:
    """Calls `write` for a format and runs, and gives what was written."""

    def render(format_name: str, *runs: Run) -> str:
        out = io.StringIO()
        write(runs, format_name, out)
        return out.getvalue()

    return render
