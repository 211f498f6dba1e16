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
#include <string_view>

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
    // The same without allocating: calls `add` with parts of the text, and `add_line` with the number.
    template <typename Add, typename AddLine>
    void describe(const PythonPlace& place, const Add& add, const AddLine& add_line) const {
        append(file_of(place), add);
        add(":");
        add_line(line_of(place));
        add(" ");
        append(name_of(place), add);
    }

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
    const void* file_of(const PythonPlace& place) const;
    const void* name_of(const PythonPlace& place) const;
    int line_of(const PythonPlace& place) const;
    // One character at a time: whatever gives all of them at once may allocate, for which the lock is needed.
    template <typename Add>
    void append(const void* unicode, const Add& add) const {
        const std::ptrdiff_t length = length_(unicode);
        for (std::ptrdiff_t index = 0; index < length && index < longest_text; ++index) {
            // A line break would end a frame.
            const std::uint32_t character = character_(unicode, index);
            std::array<char, 4> bytes{};
            add(std::string_view(bytes.data(), utf8(character < 0x20 ? 0x20 : character, bytes)));
        }
    }
    static constexpr std::ptrdiff_t longest_text = 512;
    static std::size_t utf8(std::uint32_t character, std::array<char, 4>& bytes);

    Offsets offsets_;
    const std::byte* (*this_thread_)() = nullptr;
    int (*line_of_)(const void* code, int instruction) = nullptr;
    std::ptrdiff_t (*length_)(const void* unicode) = nullptr;
    std::uint32_t (*character_)(const void* unicode, std::ptrdiff_t index) = nullptr;
    const void* code_type_ = nullptr;
};

}  // namespace isthmus::tracer
