// The Python lines that a thread is in, read without the interpreter's lock and without changing anything of it.
//
// A thread's frames change only while it runs Python itself, and it calls CUDA from C then: so they stand still,
// whoever holds the lock meanwhile. Taking the lock instead could wait for a thread that waits for us.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace isthmus::tracer {

// One line of Python: a code object and the bytes into it.
struct PythonPlace {
    const std::byte* code = nullptr;
    std::ptrdiff_t instruction = 0;
    // Of the code object, so that another one at the same address is another place.
    const void* lines = nullptr;
};

class PythonFrames {
  public:
    static constexpr std::size_t most = 24;
    using Places = std::array<PythonPlace, most>;

    // The interpreter of this process; nothing where there is none, or none whose frames are known here (CPython 3.9 to
    // 3.13 with its lock). `version` is then what was found, empty without Python.
    static std::optional<PythonFrames> find(std::string& version);

    // The places of the calling thread, the innermost first; how many there are.
    std::size_t places(Places& places) const;
    // ``file.py:12 function``
    std::string describe(const PythonPlace& place) const;

  private:
    // Where things stand in the interpreter's structures, by version.
    struct Offsets {
        int minor;
        std::size_t thread_frame, frame_in_holder;  // of the thread; and where that is a holder, the frame in it
        bool has_holder;
        std::size_t previous, code, instruction;
        bool counts_instructions;  // `instruction` is a number, of two bytes each; else an address in the code
        std::size_t filename, name, lines, bytecode;
        std::size_t owner;  // of the frame: whether it only marks where C called Python; 0 where no frame does
    };
    static const std::array<Offsets, 5> known_offsets;

    explicit PythonFrames(const Offsets& offsets) : offsets_(offsets) {}
    std::string text(const void* unicode) const;

    Offsets offsets_;
    const std::byte* (*this_thread_)() = nullptr;
    int (*line_of_)(const void* code, int instruction) = nullptr;
    std::ptrdiff_t (*length_)(const void* unicode) = nullptr;
    std::uint32_t (*character_)(const void* unicode, std::ptrdiff_t index) = nullptr;
    const void* code_type_ = nullptr;
};

}  // namespace isthmus::tracer
