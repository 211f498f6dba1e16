// The kinds of memory that a transfer can start from or end in, by their field names.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <utility>

namespace isthmus {

enum class MemoryKind {
    pageable,        // ordinary pages
    pageable_huge,   // transparent huge pages
    pinned,          // page-locked by the driver
    write_combined,  // page-locked, uncached for the CPU
    registered,      // ordinary pages, touched and then page-locked
    mapped,          // page-locked and read or written by kernels over the link
    managed,         // one address, pages migrate
    device,
};

inline constexpr std::array<std::pair<MemoryKind, std::string_view>, 8> memory_kind_names{{
    {MemoryKind::pageable, "pageable"},
    {MemoryKind::pageable_huge, "pageable_huge"},
    {MemoryKind::pinned, "pinned"},
    {MemoryKind::write_combined, "write_combined"},
    {MemoryKind::registered, "registered"},
    {MemoryKind::mapped, "mapped"},
    {MemoryKind::managed, "managed"},
    {MemoryKind::device, "device"},
}};

constexpr std::string_view name_of(MemoryKind kind) {
    for (const auto& [known, name] : memory_kind_names) {
        if (known == kind) return name;
    }
    return "unknown";
}

constexpr std::optional<MemoryKind> memory_kind_of(std::string_view name) {
    for (const auto& [kind, known] : memory_kind_names) {
        if (known == name) return kind;
    }
    return std::nullopt;
}

}  // namespace isthmus
