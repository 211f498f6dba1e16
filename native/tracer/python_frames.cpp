// The Python lines that a thread is in.
#include "tracer/python_frames.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

namespace isthmus::tracer {
namespace {

constexpr std::size_t type_in_object = 8;
constexpr char owned_by_c = 3;

template <typename T>
T read(const std::byte* from, std::size_t offset) {
    T value;
    std::memcpy(&value, from + offset, sizeof value);
    return value;
}

const std::byte* follow(const std::byte* from, std::size_t offset) {
    return read<const std::byte*>(from, offset);
}

template <typename Function>
bool load(Function& function, const char* symbol) {
    function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, symbol));
    return function != nullptr;
}

}  // namespace

// From CPython's own headers, in which these structures do not change within a minor version.
const std::array<PythonFrames::Offsets, 5> PythonFrames::known_offsets{{
    {9, 24, 0, false, 24, 32, 104, false, 104, 112, 120, 0, 0},
    {10, 24, 0, false, 24, 32, 96, true, 104, 112, 120, 0, 0},
    {11, 56, 8, true, 48, 32, 56, false, 112, 120, 136, 184, 0},
    {12, 56, 0, true, 8, 0, 56, false, 112, 120, 136, 192, 70},
    {13, 72, 0, false, 8, 0, 56, false, 112, 120, 136, 200, 0},
}};

std::optional<PythonFrames> PythonFrames::find(std::string& version) {
    const char* (*get_version)() = nullptr;
    if (!load(get_version, "Py_GetVersion")) return std::nullopt;
    // "3.12.1 (main, ...) [GCC ...]"
    version = get_version();
    const bool without_lock = version.find("free-threading") != std::string::npos;
    if (!version.starts_with("3.") || without_lock) return std::nullopt;
    const int minor = std::atoi(version.c_str() + 2);
    const auto* found = std::find_if(known_offsets.begin(), known_offsets.end(),
                                     [&](const Offsets& each) { return each.minor == minor; });
    if (found == known_offsets.end()) return std::nullopt;
    PythonFrames frames(*found);
    frames.code_type_ = dlsym(RTLD_DEFAULT, "PyCode_Type");
    const bool complete = load(frames.this_thread_, "PyGILState_GetThisThreadState") &&
                          load(frames.line_of_, "PyCode_Addr2Line") && load(frames.length_, "PyUnicode_GetLength") &&
                          load(frames.character_, "PyUnicode_ReadChar") && frames.code_type_ != nullptr;
    return complete ? std::optional(frames) : std::nullopt;
}

std::size_t PythonFrames::places(Places& places) const {
    const std::byte* thread = this_thread_();
    if (thread == nullptr) return 0;
    const std::byte* frame = follow(thread, offsets_.thread_frame);
    if (offsets_.has_holder && frame != nullptr) frame = follow(frame, offsets_.frame_in_holder);
    std::size_t count = 0;
    for (; frame != nullptr && count < most; frame = follow(frame, offsets_.previous)) {
        const std::byte* code = follow(frame, offsets_.code);
        // Frames between C and Python hold something else, or code without a line.
        if (code == nullptr || follow(code, type_in_object) != code_type_) continue;
        if (offsets_.owner != 0 && read<char>(frame, offsets_.owner) == owned_by_c) continue;
        std::ptrdiff_t instruction = 0;
        if (offsets_.bytecode != 0) {
            instruction = follow(frame, offsets_.instruction) - (code + offsets_.bytecode);
        } else {
            instruction =
                std::ptrdiff_t{read<int>(frame, offsets_.instruction)} * (offsets_.counts_instructions ? 2 : 1);
        }
        places[count++] = {code, instruction, follow(code, offsets_.lines)};
    }
    return count;
}

std::string PythonFrames::describe(const PythonPlace& place) const {
    std::string text;
    describe(
        place, [&text](std::string_view part) { text += part; }, [&text](int line) { text += std::to_string(line); });
    return text;
}

const void* PythonFrames::file_of(const PythonPlace& place) const {
    return follow(place.code, offsets_.filename);
}
const void* PythonFrames::name_of(const PythonPlace& place) const {
    return follow(place.code, offsets_.name);
}
int PythonFrames::line_of(const PythonPlace& place) const {
    return std::max(line_of_(place.code, static_cast<int>(place.instruction)), 0);
}

std::size_t PythonFrames::utf8(std::uint32_t character, std::array<char, 4>& bytes) {
    std::size_t count = 0;
    const auto add = [&](std::uint32_t byte) { bytes[count++] = static_cast<char>(byte); };
    if (character < 0x80) {
        add(character);
    } else if (character < 0x800) {
        add(0xC0 | (character >> 6U));
        add(0x80 | (character & 0x3FU));
    } else if (character < 0x10000) {
        add(0xE0 | (character >> 12U));
        add(0x80 | ((character >> 6U) & 0x3FU));
        add(0x80 | (character & 0x3FU));
    } else {
        add(0xF0 | (character >> 18U));
        add(0x80 | ((character >> 12U) & 0x3FU));
        add(0x80 | ((character >> 6U) & 0x3FU));
        add(0x80 | (character & 0x3FU));
    }
    return count;
}

}  // namespace isthmus::tracer
