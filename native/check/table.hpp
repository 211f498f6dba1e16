// The table by which links are judged, made from the data that Python judges by (scripts/make_check_table.py).
#pragma once

#include <array>
#include <span>
#include <string_view>

namespace isthmus::checking {

// src/isthmus/compare/rules.json.
struct Rules {
    double faulty_ratio, busy_width, many_replays, many_corrected, room, least_outputs, least_alike, alike, usual_share,
        above, busy_percent, corrected_an_hour, replays_an_hour;
};

// A kind of card: part of its devices' names, its own link, and the least that is normal of pinned copies to, from and
// both at once, in bytes per second, 0 where that is not known: of public outputs, and as measured for this project,
// pinned and then pageable.
struct Kind {
    std::string_view match;
    unsigned generation, width;
    bool is_pcie, full_host;
    std::array<double, 3> public_low;
    std::array<double, 6> measured_low;
    double measured_typical;  // of pinned copies in one direction
};

const Rules& rules();
std::span<const Kind> kinds();
// By the longest part of its name, in any case; null where the table has none.
const Kind* kind_of(std::string_view name);
// Whether such a device sits on a baseboard, without a slot.
bool is_module(std::string_view name);
// The least share of the wire that copies of healthy cards reach.
double usual_share(unsigned generation);
// Bytes per second in one direction, after line coding; 0 where either is not known.
double wire_rate(unsigned generation, unsigned width);
// The English text of src/isthmus/language/health.json.
std::string_view text_of(std::string_view key);

}  // namespace isthmus::checking
