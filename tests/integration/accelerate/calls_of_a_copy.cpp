// Says which functions of the fake driver a copy of so many bytes calls, the one after so many others: one a line.
//
// calls_of_a_copy [BYTES [OTHERS]]: 512 KiB after one, the first having the library begin.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "driver.hpp"

int main(int count, char** words) {
    if (begin_driver("dlsym") == nullptr) return 77;
    const std::vector<std::byte> host(count > 1 ? std::strtoull(words[1], nullptr, 10) : 512 << 10);
    const int others = count > 2 ? std::atoi(words[2]) : 1;
    Block block(host.size());
    Stream stream = nullptr;
    driver->cuStreamCreate(&stream, 0);
    for (int before = 0; before <= others; ++before) {
        reinterpret_cast<void (*)()>(dlsym(library(), "fake_record_calls"))();
        if (driver->cuMemcpyHtoDAsync(block.address, host.data(), host.size(), stream) != success) return 1;
        const char* calls = reinterpret_cast<const char* (*)()>(dlsym(library(), "fake_recorded_calls"))();
        if (before == others) std::fputs(calls, stdout);
    }
    return 0;
}
