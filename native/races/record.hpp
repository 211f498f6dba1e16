// What was seen, in a file that is there whatever becomes of the process: src/isthmus/races reads it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "races/copies.hpp"
#include "races/places.hpp"

namespace isthmus::races {

struct Finding {
    static constexpr std::uint32_t by_processor = 0, by_system_call = 1, by_stream = 2, by_free = 3;

    std::uint64_t count;                             // how often the same two places met
    std::uint64_t stream, copied_bytes, touched_at;  // that many bytes behind where the copy begins
    std::uint64_t other_stream;                      // of what meets it, where that is work of a stream, too
    std::uint32_t thread_of_copy, thread_of_touch;
    // Where two streams meet, whether the earlier one writes; whether the later one does.
    std::uint32_t is_into_host, is_write, kind, is_complete;
    std::uint64_t touch;  // a hash of where it was
    std::uint32_t site, how;
    PlaceText copy_place, touch_place;
};

struct Record {
    static constexpr std::size_t most_findings = 256, most_reasons = 1024;
    static constexpr std::array<char, 8> magic{'I', 'S', 'T', 'H', 'R', 'A', 'C', '2'};

    std::array<char, 8> format;
    std::uint64_t process;
    std::uint64_t followed, without_room, not_followed, findings, without_slot;
    std::array<char, 64> program;
    std::array<char, most_reasons> reasons;  // why nothing more was followed, one a line
    std::array<Finding, most_findings> all;

    // The one of these two places that met like this; null where there is no room for another.
    Finding* slot(std::uint32_t site, std::uint64_t touch, std::uint32_t how);
    void add_reason(const char* reason);
};

// Null where no folder is named (ISTHMUS_RACES_FOLDER), or no file can be made there.
Record* make_record();

}  // namespace isthmus::races
