// The driver's functions that are stood before: their names, ours, and the program's own.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>

namespace isthmus::accelerator {

enum class Function : std::size_t {
    copy,
    copy_async,
    to_device,
    to_device_async,
    to_host,
    to_host_async,
    copy_2d,
    copy_2d_unaligned,
    copy_2d_async,
    copy_3d,
    copy_3d_async,
    batch,
    batch_2,
    with_attributes,
    copy_3d_with_attributes,
    batch_3d,
    batch_3d_2,
    copy_3d_peer,
    copy_3d_peer_async,
    to_array,
    to_array_async,
    from_array,
    from_array_async,
    pinned,
    pinned_plainly,
    registered,
    unpinned,
    unregistered,
    reset,
    released,
    destroyed,
    begin_capture,
    begin_capture_2,
    begin_capture_to_graph,
    end_capture,
    address,
    address_2,
    count
};

// What `symbol` of the driver's library is to be for a program that found `found`: ours, or that.
void* instead_of(const char* symbol, void* found) noexcept;
// Likewise of what cuGetProcAddress found: it is asked for names without suffixes, for a version of CUDA and with flags
// that say whose default stream is meant.
void* instead_of(const char* name, int version, unsigned long long flags, void* found) noexcept;

// The program's own function, by the way it first asked for it; null where there is no driver.
void* original(Function function, bool per_thread) noexcept;

template <typename Pointer>
Pointer original(Function function, bool per_thread) noexcept {
    return reinterpret_cast<Pointer>(original(function, per_thread));
}

// Whether the process is to be as without the library (ISTHMUS_ACCELERATE=off). The counts say so from the first call
// on that would have been looked at.
bool is_switched_off() noexcept;

// While it lives, the calling thread gets the driver's own functions: its calls are the library's. All threads get them
// where the library is switched off.
class Inside {
  public:
    Inside() noexcept : before_(is_inside) { is_inside = true; }
    ~Inside() { is_inside = before_; }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;
    static bool here() noexcept { return is_inside || in_driver() || is_switched_off(); }
    // Around a call of the driver by a function that has nothing to clean up, whose frame this is: drivers and other
    // tools call functions by their names, too. Where the program has left that call by a jump, frames as old as this
    // one, or older, tell.
    static void call_driver(const void* frame) noexcept { driver_since = frame; }
    static void driver_returned() noexcept { driver_since = nullptr; }
    // For a tracer in the same process: odd while the calling thread is inside, and higher after each copy that the
    // library made for it.
    static unsigned long mark() noexcept { return 2 * copies + (is_inside ? 1 : 0); }
    static void copied() noexcept { ++copies; }

  private:
    static bool in_driver() noexcept { return __builtin_frame_address(0) < driver_since; }
    static thread_local const void* driver_since __attribute__((tls_model("initial-exec")));
    // Preloaded, so that there is room for it beside the program's own.
    static thread_local bool is_inside __attribute__((tls_model("initial-exec")));
    static thread_local unsigned long copies __attribute__((tls_model("initial-exec")));
    bool before_;
};

using FindSymbol = void* (*)(void*, const char*);
// That of the C library.
FindSymbol system_dlsym() noexcept;
// The next dlsym after ours: of another tool, which has no version, or of the C library.
FindSymbol next_dlsym() noexcept;
// The next function of the C library's, whichever version is the default; null where there is none.
void* next_symbol(const char* symbol) noexcept;

}  // namespace isthmus::accelerator
