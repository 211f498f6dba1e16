// What the environment asks of the library that accelerates.
//
// ISTHMUS_ACCELERATE         off: all is the driver's (Inside::here)
// ISTHMUS_ACCELERATE_OPTIONS min=BYTES, budget=BYTES, threads=N, sample=N, pinned=auto|huge|off, verify, eager,
//                            separated by commas
// ISTHMUS_ACCELERATE_FOLDER  where each process puts the counts of what it did
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace isthmus::accelerator {

// How the pages of memory that the driver page-locks are put in place.
enum class HostPageChoice {
    automatic,  // by threads, so that all is as the driver has it; huge ones where a forked child shares them, too
    huge,       // huge ones also where a child gets a copy
    off,        // by the driver
};

struct Options {
    // Smaller copies are the driver's.
    std::size_t least_bytes = std::size_t{256} << 10;
    // Of page-locked memory, for each process and device; without it as much as sessions have by default.
    std::optional<std::size_t> pinned_budget_bytes;
    std::size_t threads = 0;        // as many as the table says and the process may use
    std::size_t sample_every = 32;  // of so many copies one goes partly by the driver, to see what is gained
    HostPageChoice host_pages = HostPageChoice::automatic;
    bool eager = false;   // take every copy from the first on, also where the driver is faster
    bool verify = false;  // compare what arrived with what the driver copies
    std::string folder;   // none: nothing is counted for others to see

    static Options from_environment();
};

}  // namespace isthmus::accelerator
