// All that the library knows of its process, behind one lock.
//
// The handler of faults takes the lock, too. So a thread that holds it takes no signal, allocates nothing, calls
// nothing of the program's and touches none of its memory: then no thread that faults can hold it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "base/threads.hpp"
#include "races/accesses.hpp"
#include "races/copies.hpp"
#include "races/order.hpp"
#include "races/places.hpp"
#include "races/record.hpp"

namespace isthmus::races {

class State {
  public:
    Order order;
    Copies copies;
    Accesses accesses;
    Places places;
    Record* record = nullptr;
    std::uint64_t followed = 0;  // copies and fills
    // Captures that have begun and not ended: what they record is not done, and what events in them hold is not known.
    unsigned captures = 0;
    // Whether graphs hold host functions, or kernels may say to the host or to streams how far they are.
    bool graphs_signal = false, kernels_signal = false;
    bool has_launched = false;
    // Whether kernels of several devices may wait for each other; whether the host may look at memory of a device.
    bool devices_meet = false, maps_device = false;

    // The host has waited for what a clock covers.
    void finish(const Clock& clock) {
        copies.finish(clock);
        accesses.finish(clock);
        order.finish(clock);
    }
    void finish_all() { finish(Clock::everything()); }
    // The number of a place, whose text is kept; 0 where there is no room. `text` is written where it is new.
    std::uint32_t site_of(const Frames& frames);
    const PlaceText& text_of(std::uint32_t site) const { return sites_[site == 0 ? most_sites - 1 : site - 1]; }
    void note(const Access& copy, const Frames& touch, const Range& touched, bool is_write, bool is_system_call) const;
    // The later one is of work that is not behind the earlier one's.
    void note(const Access& earlier, const Access& later) const;
    void count_copy() const;
    // What is unfinished, of what the clock covers, may be waited for by something that cannot be followed.
    void let_go(const char* reason, const Clock& clock = Clock::everything());
    // From now on the host's own touches are not seen.
    void protect_none(const char* reason);
    // Nothing is followed from now on.
    void stop(const char* reason);

  private:
    Finding* begin_finding(const Access& use, std::uint64_t touch, bool is_write, const Range& touched) const;

    static constexpr std::size_t most_sites = 4096;
    std::size_t site_count_ = 0;
    std::array<std::uint64_t, most_sites> hashes_{};
    std::array<PlaceText, most_sites> sites_{};
};

// Holds the lock, with the thread's signals blocked.
class Locked {
  public:
    Locked() noexcept;
    ~Locked();
    Locked(const Locked&) = delete;
    Locked& operator=(const Locked&) = delete;
    State* operator->() const noexcept;

  private:
    SignalsBlocked blocked_;
};

// Known without the lock.
Places& places() noexcept;
// Whether a launch changes nothing of what is known. Without the lock: what another thread begins meanwhile is behind
// it.
bool is_launch_quiet() noexcept;
// Whether anything is followed at all: not where it is switched off, has no file to write to, or has given up. Nor in a
// child, which finds its pages open, however it was made.
bool is_watching() noexcept;
// Begins, at the first pinned memory; false where it cannot.
bool begin_watching() noexcept;

// A call of the driver: what it touches meanwhile is not the program's.
class InDriver {
  public:
    InDriver() noexcept { ++depth; }
    ~InDriver() { --depth; }
    InDriver(const InDriver&) = delete;
    InDriver& operator=(const InDriver&) = delete;
    static bool is_nested() noexcept { return depth != 0; }
    // Also true on threads that it made.
    static bool here() noexcept { return depth != 0 || is_drivers_thread; }
    static void always_here() noexcept { is_drivers_thread = true; }

  private:
    static thread_local unsigned depth __attribute__((tls_model("initial-exec")));
    static thread_local bool is_drivers_thread __attribute__((tls_model("initial-exec")));
};

// What a program gets that looked up a function of the driver by its symbol.
void* taken(const char* symbol, void* given) noexcept;

// Sets the handler of faults, and keeps it first.
void begin_handling() noexcept;
void handle_in_child() noexcept;

}  // namespace isthmus::races
