// How a process with random programs begins.
#pragma once

#include "execute.hpp"

// Room for the name of the function of a fake driver that fails: changed in place, since a variable that comes or goes
// moves those that other threads read.
inline char* failures_in_environment = nullptr;
inline void prepare_failures() {
    constexpr const char* name = "FAKE_CUDA_FAIL";
    setenv(name, std::string(64, 'x').c_str(), 1);
    failures_in_environment = std::getenv(name);
    *failures_in_environment = 0;
}

// Each hundred programs find the driver's functions in another way.
inline void find_functions(std::uint64_t seed) {
    static const char* const reaches[] = {"address", "dlsym", "versioned"};
    reach = reaches[seed / 100 % 3];
    driver = new Driver;
    more = new MoreOfDriver;
    runtime = new Runtime;
    const std::string before = reach;
    reach = "thread";
    of_thread = new Driver;
    reach = before;
}

// Whether there is a device, with all that programs need.
inline bool start(World& world) {
    if (driver->cuInit(0) != success || driver->cuDevicePrimaryCtxRetain(&world.context, 0) != success) return false;
    if (driver->cuCtxSetCurrent(world.context) != success) return false;
    if (runtime->cudaFree != nullptr) (void)runtime->cudaFree(nullptr);
    world.fails = more->is_fake ? failures_in_environment : nullptr;
    world.make();
    return true;
}

inline void on_both(Mate& mate, const std::function<Code()>& work) {
    expect(work() == success);
    mate.give([&] { expect(work() == success); });
    mate.wait();
}
