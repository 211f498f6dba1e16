// What a function of CUDA does to a program's data, told by its name, and where its parameters say what it moves.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace isthmus::tracer {

enum class Role : std::uint8_t { ignored, copy, fill, wait, allocate, release, launch, other };

// The role of a function of the driver or the runtime, whatever version of it.
Role role_of(std::string_view function);
// What a host thread waits for in a function whose role is `wait`: "stream", "device", "event".
std::string_view awaited_by(std::string_view function);

struct CopyOperands {
    std::uint64_t source = 0, destination = 0, bytes = 0;
    std::uint32_t rows = 1;
    // As CUPTI numbers kinds of copies; 0 where the call does not tell.
    std::uint32_t copy_kind = 0;
};

// Reads the parameters of a copy; nothing where they do not tell.
std::optional<CopyOperands> copy_operands(std::string_view function, const void* parameters);

struct Memory {
    std::uint64_t address = 0, bytes = 0;
    // As CUPTI numbers kinds of memory.
    std::uint16_t kind = 0;
};

// The memory that a function got or gave back. Of one that gets memory, when it has returned.
std::optional<Memory> memory_of(std::string_view function, const void* parameters);

}  // namespace isthmus::tracer
