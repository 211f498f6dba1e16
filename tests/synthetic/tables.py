"""Tables for sessions of tests: buffers are staged from 64 KiB on, and all pieces go by one method."""

THREADED = ["pack_threads", "pack_kernel"]
METHODS = ["copies", "batch", "section", "kernel", "device_pack", "pack", *THREADED]

# Chunks that a small budget holds several rings of.
_BUFFERS = """isthmus transfer table 1
origin a test
buffer direction=h2d from=0 method=driver seconds=1e-05
buffer direction=h2d from=65536 method=staged threads=2 chunk=65536 stores=streaming seconds=1e-05
buffer direction=h2d from=524288 method=staged threads=2 chunk=65536 stores=demoted seconds=5e-05
buffer direction=h2d from=2097152 method=staged threads=3 chunk=131072 stores=ordinary seconds=1e-04
buffer direction=d2h from=0 method=driver seconds=1e-05
buffer direction=d2h from=65536 method=staged threads=2 chunk=65536 stores=streaming seconds=1e-05
buffer direction=d2h from=2097152 method=staged threads=3 chunk=131072 stores=ordinary seconds=1e-04
"""


def transfer_table(method: str = "pack_threads") -> str:
    threads = "threads=3 " if method in THREADED else ""
    rules = [
        f"pieces direction={direction} memory={memory} apart={apart} layout={layout} width=64 count=64 "
        f"method={method} {threads}seconds=1e-05\n"
        for direction in ("d2h", "h2d")
        for memory in ("pageable", "pinned")
        for apart in ("both", "device", "host")
        for layout in ("regular", "scattered")
    ]
    return _BUFFERS + "".join(rules) + "end\n"
