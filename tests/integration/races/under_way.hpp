// Copies of pinned memory that have not been waited for, as the programs here have them.
#pragma once

#include "tests/integration/races/cases.hpp"

inline constexpr std::size_t page = 4096, bytes = 4 * page;

struct UnderWay {
    explicit UnderWay(bool into_host) {
        expect(driver->cuStreamCreate(&stream, 1) == success);
        std::memset(host.data(), 1, bytes);
        expect((into_host ? driver->cuMemcpyDtoHAsync(host.data(), device.address, bytes, stream)
                          : driver->cuMemcpyHtoDAsync(device.address, host.data(), bytes, stream)) == success);
    }
    HostBlock host{bytes, true};
    Block device{bytes};
    Stream stream = nullptr;
};

// Copies of the second half of a page.
struct Half {
    void begin(bool into_host) {
        expect((into_host
                    ? driver->cuMemcpyDtoHAsync(host.data() + page / 2, device.address, page / 2, stream)
                    : driver->cuMemcpyHtoDAsync(device.address, host.data() + page / 2, page / 2, stream)) == success);
    }
    Half() { expect(driver->cuStreamCreate(&stream, 1) == success); }
    HostBlock host{bytes, true};
    Block device{bytes};
    Stream stream = nullptr;
};
