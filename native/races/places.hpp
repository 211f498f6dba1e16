// Where in the program a call or a touch comes from, as a text: its lines of Python, then its native frames.
//
// Written without allocating and without a lock of the program's, for it is also written in the handler of a fault.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>

#include "tracer/python_frames.hpp"

namespace isthmus::races {

inline constexpr std::size_t most_text = 1536;
using PlaceText = std::array<char, most_text>;

struct Frames {
    static constexpr std::size_t most = 24;
    std::array<void*, most> native{};
    std::size_t native_count = 0;
    tracer::PythonFrames::Places python{};
    std::size_t python_count = 0;

    std::uint64_t hash() const;
};

class Places {
  public:
    // Looks for the interpreter and at what is loaded; where nothing is new since the last time it costs little. Null,
    // or why the kernel may use the program's memory by itself. Not in a handler, nor with the lock held.
    const char* look_around();
    // Takes the loader's lock, as looking around does only where the interpreter has been loaded since.
    void prepare();
    // Frames of the calling thread, from `interrupted` on outwards, if that is an address of its code.
    Frames here(const void* interrupted = nullptr) const;
    // One frame a line, the innermost first: ``file.py:12 function``, or ``/path/of/module+0x1f40``.
    void describe(const Frames& frames, PlaceText& text) const;
    // Whether an address is of the driver's code.
    bool is_drivers(const void* address) const;

  private:
    void prepare_alone();

    static constexpr std::size_t most_modules = 1024, most_path = 232;
    struct Module {
        std::uintptr_t begin, end, base;
        std::array<char, most_path> path;
        bool is_drivers = false, is_ours = false;
    };
    const Module* module_of(std::uintptr_t address) const;

    struct Modules {
        std::size_t count = 0;
        std::array<Module, most_modules> all{};
    };
    const Modules& modules() const { return tables_[current_.load(std::memory_order_acquire)]; }

    // One is read while the other is written.
    std::array<Modules, 2> tables_{};
    std::atomic<unsigned> current_ = 0;
    std::mutex looking_;
    unsigned long long loaded_ = 0, unloaded_ = 0;
    std::optional<tracer::PythonFrames> python_;
    bool is_prepared_ = false;
    const char* uses_memory_ = nullptr;
};

}  // namespace isthmus::races
