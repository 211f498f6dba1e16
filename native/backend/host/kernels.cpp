// The kernels of the host backend: one plain function for each row of kernels/table.hpp.
#include "backend/host/kernels.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "backend/rows.hpp"
#include "base/pattern.hpp"
#include "kernels/kernels.hpp"

namespace isthmus::host {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

#define ISTHMUS_ROW(name, operation, threads, counted, needs_doubles, parameters) void name parameters;
ISTHMUS_KERNELS(ISTHMUS_ROW)
#undef ISTHMUS_ROW

template <typename T>
T* values(const Region& region) {
    return reinterpret_cast<T*>(region.host());
}

void nothing() {}

void fill(Region region, u64 bytes, u64 seed, u64 first_word) {
    fill_pattern(region.host(), bytes, seed, first_word);
}

void verify(Region region, u64 bytes, u64 seed, u64 first_word, Region result) {
    const Mismatch mismatch = verify_pattern(region.host(), bytes, seed, first_word);
    if (!mismatch) return;
    auto& answer = *values<VerifyResult>(result);
    answer.words += static_cast<u32>(mismatch.words);
    answer.first_word = std::min(answer.first_word, static_cast<u32>(mismatch.first_word - first_word));
}

void copy(Region destination, Region source, u64 bytes) {
    std::memcpy(destination.host(), source.host(), bytes);
}

// Offsets are added to the address as numbers, since a layout may count from before its allocation.
void copy_pieces(Region destination, u64 destination_pitch, u64 destination_slice, Region source, u64 source_pitch,
                 u64 source_slice, Region table, u32 scattered, u32 unit, u64 width, u64 rows, u64 pieces, u64 first,
                 u64 count) {
    const auto address = [](const Region& region) {
        return reinterpret_cast<std::uintptr_t>(region.allocation->host()) + region.offset;
    };
    const u64* const offsets = table.allocation != nullptr ? values<const u64>(table) : nullptr;
    const u64* const to_offsets = (scattered & 1U) != 0 ? offsets : nullptr;
    const u64* const from_offsets = (scattered & 2U) != 0 ? offsets + (to_offsets != nullptr ? pieces : 0) : nullptr;
    const auto place = [rows](const u64* from, u64 piece, u64 pitch, u64 slice) {
        return from != nullptr ? from[piece] : piece / rows * slice + piece % rows * pitch;
    };
    for (u64 at = first * unit; at < (first + count) * unit;) {
        const u64 piece = at / width;
        const u64 within = at % width;
        const u64 run = std::min(width - within, (first + count) * unit - at);
        const u64 to = address(destination) + place(to_offsets, piece, destination_pitch, destination_slice) + within;
        const u64 from = address(source) + place(from_offsets, piece, source_pitch, source_slice) + within;
        // NOLINTNEXTLINE(performance-no-int-to-ptr)
        std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), run);
        at += run;
    }
}

void copy_rows(Region destination, Region source, Region table, Region verdict, u32 unit, u64 row_bytes, u64 rows,
               u64 layers, u64 count) {
    if (verdict.allocation != nullptr && *values<const u32>(verdict) != 0) return;
    const auto address = [](const Region& region) {
        const auto begin =
            region.allocation == nullptr ? 0 : reinterpret_cast<std::uintptr_t>(region.allocation->host());
        return begin + region.offset;
    };
    const u64* const places = values<const u64>(table);
    const u32* const to_rows = reinterpret_cast<const u32*>(places + 4 * layers);
    for (u64 i = 0; i < count * unit / row_bytes; ++i) {
        const u64* const layer = places + i / rows * 4;
        const u64 to = address(destination) + layer[0] + to_rows[i % rows] * layer[1];
        const u64 from = address(source) + layer[2] + to_rows[rows + i % rows] * layer[3];
        // NOLINTNEXTLINE(performance-no-int-to-ptr)
        std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), row_bytes);
    }
}

void check_rows(Region list, u32 index_bytes, u64 stride, u64 count, u64 rows, Region seen, u32 marks, u32 side,
                Region checked, Region verdict) {
    auto& counts = *values<RowsVerdict>(verdict);
    RowsVerdict::List& faults = side == 0 ? counts.destination : counts.source;
    const auto note = [&](u32& first, u64 at) {
        ++counts.faults;
        first = std::min(first, static_cast<u32>(at));
    };
    for (u64 i = 0; i < count; ++i) {
        std::int64_t row = 0;
        if (index_bytes == sizeof row) {
            std::memcpy(&row, list.host() + i * stride, sizeof row);
        } else {
            std::int32_t narrow = 0;
            std::memcpy(&narrow, list.host() + i * stride, sizeof narrow);
            row = narrow;
        }
        const bool is_there = static_cast<u64>(row) < rows;
        values<u32>(checked)[i] = is_there ? static_cast<u32>(row) : 0;
        if (!is_there) {
            note(faults.outside, i);
        } else if (marks != 0) {
            u32& bits = values<u32>(seen)[row / 32];
            const u32 bit = 1U << static_cast<u32>(row % 32);
            if ((bits & bit) != 0) note(faults.repeated, i);
            if (marks == 1) bits |= bit;
        }
    }
}

void add(Region region, u64 words, u32 value) {
    for (u32* word = values<u32>(region); words > 0; --words) *word++ += value;
}

void sum(Region region, u64 words, Region result) {
    const u32* const from = values<u32>(region);
    *values<u32>(result) += std::accumulate(from, from + words, u32{0});
}

void work(Region region, u64 words, u32 rounds) {
    u32* const at = values<u32>(region);
    for (u64 i = 0; i < words; ++i) {
        for (u32 round = 0; round < rounds; ++round) at[i] = at[i] * 1664525U + 1013904223U;
    }
}

void touch_in_turn(Region region, u64 count, u64 stride, u32 /*none*/) {
    for (u64 i = 0; i < count; ++i) ++*reinterpret_cast<u32*>(region.host() + i * stride);
}

void chase(Region chain, u64 start, u64 hops, Region result) {
    u64 at = start;
    for (u64 i = 0; i < hops; ++i) std::memcpy(&at, chain.host() + at, sizeof at);
    std::memcpy(result.host(), &at, sizeof at);
}

void add_doubles(Region region, u64 count, u64 stride, double value) {
    for (u64 i = 0; i < count; ++i) *reinterpret_cast<double*>(region.host() + i * stride) += value;
}

void ramp(Region region, u64 rows, u64 columns, u64 first_column, u64 side) {
    auto* const points = values<double>(region);
    for (u64 i = 0; i < rows * columns; ++i) {
        points[i] = static_cast<double>((i / columns + (first_column + i % columns) % side) % 3343);
    }
}

void laplacian(Region destination, Region source, u64 rows, u64 columns, u64 halo) {
    auto* const results = values<double>(destination);
    const auto* const points = values<const double>(source);
    for (u64 i = 0; i < rows; ++i) {
        const double* const up = points + (i == 0 ? rows - 1 : i - 1) * columns;
        const double* const down = points + (i == rows - 1 ? 0 : i + 1) * columns;
        const double* const here = points + i * columns;
        for (u64 j = halo; j < columns - halo; ++j) {
            results[i * columns + j] = (up[j] + down[j] + here[j - 1] + here[j + 1]) * 0.25;
        }
    }
}

template <typename... Parameters, std::size_t... Indices>
void call(void (*function)(Parameters...), [[maybe_unused]] std::span<const KernelArgument> arguments,
          std::index_sequence<Indices...> /*positions*/) {
    function(arguments[Indices].as<Parameters>()...);
}

template <typename... Parameters>
void call(void (*function)(Parameters...), std::span<const KernelArgument> arguments) {
    call(function, arguments, std::index_sequence_for<Parameters...>());
}

}  // namespace

void run_kernel(KernelId kernel, std::span<const KernelArgument> arguments) {
    switch (kernel) {
#define ISTHMUS_ROW(name, operation, threads, counted, needs_doubles, parameters) \
    case KernelId::name: return call(&name, arguments);
        ISTHMUS_KERNELS(ISTHMUS_ROW)
#undef ISTHMUS_ROW
    }
}

}  // namespace isthmus::host
