// What the host backend pretends: the link it has and the calls that go wrong.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "base/status.hpp"

namespace isthmus::host {

// What goes wrong with the call of a given number.
enum class FaultKind {
    fail,           // the call returns call_failed
    out_of_memory,  // the call returns out_of_memory
    partial,        // the command reports success with half of its bytes done
    slow,           // the command takes 100 ms longer
    hang,           // it takes 2 s longer: long enough for a watchdog, short enough for tests to end
};

struct Fault {
    FaultKind kind = FaultKind::fail;
    std::uint64_t first = 1;  // the first call concerned, counted from 1; later calls fail too
};

// Zero rates and latency mean "as fast as this machine copies".
struct Model {
    double latency_seconds = 0;
    double h2d_bytes_per_second = 0;
    double d2h_bytes_per_second = 0;
    std::size_t device_bytes = std::size_t{16} << 30;
    // As `ulimit -l` limits it; for all of this device's page-locked memory together.
    std::size_t locked_bytes = SIZE_MAX;
    // By operation: those of the seam, which model.cpp lists, and those of the kernels (kernels/table.hpp).
    std::map<std::string, Fault> faults;

    // Reads "rate=25GB/s,h2d=12e9,d2h=13e9,latency=8us,memory=2GiB,locked=64MiB,fault=copy:partial@5". Rates take B/s
    // with an optional kB/s, MB/s or GB/s; latency s, ms, us or ns; memory and locked KiB, MiB, GiB. Fails with
    // invalid_argument, naming the part that is wrong and what was expected.
    static Result<Model> parse(const std::string& text);
};

}  // namespace isthmus::host
