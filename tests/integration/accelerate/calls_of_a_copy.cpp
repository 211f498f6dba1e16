// Says which functions of the fake driver a copy calls whose size is the driver's by the table: one a line.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "driver.hpp"

int main() {
    reach = "dlsym";
    const Driver functions;
    driver = &functions;
    Context context = nullptr;
    if (driver->cuInit(0) != success || driver->cuDevicePrimaryCtxRetain(&context, 0) != success) return 77;
    driver->cuCtxSetCurrent(context);
    const std::vector<std::byte> host(512 << 10);
    Block block(host.size());
    Stream stream = nullptr;
    driver->cuStreamCreate(&stream, 0);
    // The first has the library begin.
    for (int turn = 0; turn < 2; ++turn) {
        reinterpret_cast<void (*)()>(dlsym(library(), "fake_record_calls"))();
        if (driver->cuMemcpyHtoDAsync(block.address, host.data(), host.size(), stream) != success) return 1;
        const char* calls = reinterpret_cast<const char* (*)()>(dlsym(library(), "fake_recorded_calls"))();
        if (turn == 1) std::fputs(calls, stdout);
    }
    return 0;
}
