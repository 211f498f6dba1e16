"""Makes the pictures of a run in docs/pictures, and tells how long its page takes to open and whether it fits.

    python scripts/make_pictures.py page results/h200-all.json.gz [--lang ja] [--dark] [-o docs/pictures]
    python scripts/make_pictures.py screen results/h200-cuda.json.gz [--lang ja] [-o docs/pictures]

Needs chromium (or CHROMIUM=path), driven through a pipe, and ghostscript for the printed page.
"""

import argparse
import base64
import io
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

# Of a telephone and of a laptop, in CSS pixels; their pictures are one and three screens high.
_SIZES = {"390": (390, 844, 3), "1280": (1280, 800, 2)}
_A4_INCHES = (8.27, 11.69)


class Browser:
    """A headless Chromium with one page, spoken to in the DevTools protocol: JSON texts that end with a null byte."""

    def __init__(self, profile: str) -> None:
        theirs_in, self._out = os.pipe()
        self._in, theirs_out = os.pipe()
        command = [os.environ.get("CHROMIUM", "chromium"), "--headless", "--no-sandbox", "--disable-gpu"]
        command += ["--hide-scrollbars", "--remote-debugging-pipe", f"--user-data-dir={profile}", "about:blank"]
        # The browser reads from descriptor 3 and writes to 4.
        shell = ["sh", "-c", f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}', "sh", *command]
        self._process = subprocess.Popen(shell, pass_fds=(theirs_in, theirs_out), stderr=subprocess.DEVNULL)
        self._rest, self._number, self._session = b"", 0, ""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Page.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """The result of one command; events that come meanwhile are dropped."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise SystemExit(f"{method}: {answer['error']['message']}")
                return dict(answer["result"])

    def value(self, expression: str) -> Any:
        """What a JavaScript expression of the page gives, awaited where it is a promise."""
        found = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        return found["result"].get("value")

    def close(self) -> None:
        """End the browser that this began."""
        self._process.terminate()
        self._process.wait()

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            self._rest += os.read(self._in, 1 << 20)
        text, _, self._rest = self._rest.partition(b"\0")
        return dict(json.loads(text))


_SETTLED = "new Promise(done => document.readyState === 'complete' ? done(true) : addEventListener('load', done))"
_MEASURES = """(() => {
  const opened = performance.getEntriesByType('navigation')[0];
  const paint = performance.getEntriesByName('first-contentful-paint')[0];
  return {paint: paint?.startTime, load: opened.loadEventEnd, inner: innerWidth,
          scroll: document.documentElement.scrollWidth};
})()"""
_BOTTOM = "document.querySelector('pre').getBoundingClientRect().bottom"
# A character of the browser's own monospaced letters.
_COLUMN_PIXELS = 9.65


def main() -> None:
    """Write report-*.png of a page, or screen-*.png of what `isthmus measure` ends with, and a line on each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["page", "screen"])
    parser.add_argument("run", type=Path)
    parser.add_argument("-o", "--output", type=Path, default=Path("docs/pictures"))
    parser.add_argument("--lang", default="en")
    parser.add_argument("--dark", action="store_true")
    parser.add_argument("--from", dest="anchor", default="", help="the part of the page to show, such as bandwidth")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        chosen.output.mkdir(parents=True, exist_ok=True)
        browser = Browser(f"{folder}/profile")
        try:
            scheme = {"name": "prefers-color-scheme", "value": "dark" if chosen.dark else "light"}
            browser.call("Emulation.setEmulatedMedia", features=[scheme])
            if chosen.what == "screen":
                _screens(browser, chosen.run, chosen.lang, Path(folder), chosen.output)
            else:
                _pages(browser, _page(chosen.run, chosen.lang, Path(folder)), chosen.anchor, chosen.output)
        finally:
            browser.close()


def _pages(browser: Browser, page: Path, anchor: str, output: Path) -> None:
    for name, (width, height, screens) in _SIZES.items():
        picture = _screen(browser, f"{page.as_uri()}#{anchor}", width, height, screens, name)
        (output / f"report-{name}.png").write_bytes(picture)
    _print(browser, page.with_suffix(".pdf"), output / "report-pdf.png")


def _screens(browser: Browser, run: Path, language: str, folder: Path, output: Path) -> None:
    """The first screen in terminals of 80 and 120 columns, on light and on dark ground."""
    from rich.console import Console
    from rich.terminal_theme import DEFAULT_TERMINAL_THEME, MONOKAI
    from rich.text import Text

    from isthmus.language import LANGUAGES, speaking
    from isthmus.record import read_run
    from isthmus.report import write
    from isthmus.report.screen import screen_document

    for columns, ground, theme in ((80, "dark", MONOKAI), (120, "light", DEFAULT_TERMINAL_THEME)):
        os.environ |= {"COLUMNS": str(columns), "FORCE_COLOR": "1"}
        shown = io.StringIO()
        with redirect_stdout(shown), speaking(next(each for each in LANGUAGES if each == language)):
            write(screen_document(read_run(run)), "terminal", sys.stdout)
        console = Console(record=True, width=columns, file=io.StringIO(), force_terminal=True)
        console.print(Text.from_ansi(shown.getvalue()))
        page = folder / f"screen-{columns}.html"
        page.write_text(console.export_html(theme=theme, inline_styles=True), encoding="utf-8")
        browser.call("Emulation.setDeviceMetricsOverride", width=2000, height=500, deviceScaleFactor=1, mobile=False)
        browser.call("Page.navigate", url=page.as_uri())
        browser.value(_SETTLED)
        bottom = browser.value(_BOTTOM)
        width, height = round(_COLUMN_PIXELS * columns) + 16, math.ceil(bottom) + 16
        browser.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False
        )
        picture = browser.call("Page.captureScreenshot", format="png")["data"]
        (output / f"screen-{columns}.png").write_bytes(base64.b64decode(picture))
        print(f"screen-{columns}: {shown.getvalue().count(chr(10))} lines, {ground}")


def _page(run: Path, language: str, folder: Path) -> Path:
    from isthmus.language import LANGUAGES, speaking
    from isthmus.record import read_run
    from isthmus.report import write
    from isthmus.report.runs import runs_document

    page = folder / "page.html"
    with page.open("w", encoding="utf-8") as out, speaking(next(each for each in LANGUAGES if each == language)):
        write(runs_document([read_run(run)]), "html", out)
    return page


def _screen(browser: Browser, address: str, width: int, height: int, screens: int, name: str) -> bytes:
    metrics: dict[str, Any] = {"width": width, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.call("Emulation.setDeviceMetricsOverride", height=height, **metrics)
    browser.call("Page.navigate", url="about:blank")
    browser.call("Page.navigate", url=address)
    browser.value(_SETTLED)
    # Charts near the window are drawn after the page is there, and some versions tell of its first paint only then.
    browser.call("Emulation.setDeviceMetricsOverride", height=height * screens, **metrics)
    time.sleep(2)
    found = browser.value(_MEASURES)
    size = f"{found['scroll']} of {found['inner']} pixels wide"
    print(f"{name}: first paint {found['paint']:.0f} ms, loaded {found['load']:.0f} ms, {size}")
    return base64.b64decode(browser.call("Page.captureScreenshot", format="png")["data"])


def _print(browser: Browser, pdf: Path, picture: Path) -> None:
    """The first two sheets of the printed page, side by side."""
    width, height = _A4_INCHES
    printed = browser.call("Page.printToPDF", paperWidth=width, paperHeight=height, printBackground=False)
    pdf.write_bytes(base64.b64decode(printed["data"]))
    sheets = [pdf.with_name(f"sheet-{number}.png") for number in (1, 2)]
    for number, sheet in enumerate(sheets, 1):
        pages = [f"-dFirstPage={number}", f"-dLastPage={number}", "-r80"]
        options = ["-q", "-dBATCH", "-dNOPAUSE", "-sDEVICE=png16m", "-dTextAlphaBits=4", "-dGraphicsAlphaBits=4"]
        subprocess.run(["gs", *options, *pages, f"-sOutputFile={sheet}", str(pdf)], check=True)
    images = "".join(f'<img style="margin:4px;border:1px solid #999" src="{each.name}">' for each in sheets)
    both = pdf.with_name("sheets.html")
    both.write_text(f'<body style="margin:0;white-space:nowrap">{images}', encoding="utf-8")
    browser.call("Emulation.setDeviceMetricsOverride", width=1350, height=950, deviceScaleFactor=1, mobile=False)
    browser.call("Page.navigate", url=both.as_uri())
    browser.value(_SETTLED)
    picture.write_bytes(base64.b64decode(browser.call("Page.captureScreenshot", format="png")["data"]))
    print(f"pdf: {len(printed['data']) * 3 // 4} bytes")


if __name__ == "__main__":
    main()
