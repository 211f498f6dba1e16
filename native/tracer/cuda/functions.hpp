// What a function of CUDA does to a program's data, told by its name, and where its parameters say what it moves.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace isthmus::tracer {

enum class Role : std::uint8_t { ignored, copy, fill, wait, allocate, release, launch, graph_launch, graph, other };

// The role of a function of the driver or the runtime, whatever version of it.
Role role_of(std::string_view function);

// A copy of one row: where its parameters stand. Without a stream it uses the default one.
struct LinearCopy {
    std::string_view stem;
    std::size_t source, destination, bytes;
    std::uint8_t copy_kind;
    std::size_t stream = 0;
    // Where the runtime has its own kind of copy, instead of `copy_kind`.
    std::size_t from_runtime = 0;
    // Whether the default stream is the thread's own.
    bool thread_stream = false;
};

// What is known of a function by its name.
struct Function {
    Role role = Role::ignored;
    // As a text of the trace.
    std::uint32_t name = 0;
    std::optional<LinearCopy> copy = std::nullopt;
    // Of a copy that `isthmus accelerate` made.
    std::uint32_t accelerated_name = 0;
};

struct CopyOperands {
    std::uint64_t source = 0, destination = 0, bytes = 0;
    std::uint32_t rows = 1;
    // As CUPTI numbers kinds of copies; 0 where the call does not tell.
    std::uint8_t copy_kind = 0;
    // The handle of the stream, where the call itself makes one copy; 0 is a default stream, if need be the thread's
    // own.
    std::optional<std::uint64_t> stream = std::nullopt;
    bool thread_stream = false;
};

// How a function's parameters say what it copies, where it is one row.
std::optional<LinearCopy> linear_copy(std::string_view function);
CopyOperands copy_operands(const LinearCopy& layout, const void* parameters);

// Reads the parameters of any copy; nothing where they do not tell.
std::optional<CopyOperands> copy_operands(std::string_view function, const void* parameters);

struct Memory {
    std::uint64_t address = 0, bytes = 0;
    // As CUPTI numbers kinds of memory.
    std::uint16_t kind = 0;
};

// The memory that a function got or gave back. Of one that gets memory, when it has returned.
std::optional<Memory> memory_of(std::string_view function, const void* parameters);

}  // namespace isthmus::tracer
