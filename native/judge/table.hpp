// The table by which links are judged, made from kinds/ and rules.json (scripts/make_judge_table.py).
#pragma once

#include <array>
#include <span>
#include <string_view>

namespace isthmus::judging {

struct Rules {
    double faulty_ratio;    // share of the least that is normal, below which a rate is a fault if two classes agree
    double busy_width;      // noise of both directions at once on a machine where nothing else copies
    double steady_width;    // that of one direction
    double many_replays;    // since the driver was loaded: a link that is well has a few in months
    double many_corrected;  // healthy links have a few corrected errors in weeks
    double room;            // public outputs differ by so much from healthy ones that were not posted
    double least_outputs;   // public outputs that are evidence
    double least_alike;     // devices of one kind in one machine that are evidence
    double alike;           // they are within a few per cent of one another
    double usual_share;     // where the table has no healthy output of that vendor and generation
    double above;           // a rate above what a link could carry says that the link was not read rightly
    double busy_percent;    // from so much on a device is in use
    double corrected_an_hour, replays_an_hour;  // more of a link that is watched are a flap
};

// The least that public outputs show in bytes per second, and where they are; 0 where too few can be looked up.
struct Public {
    double low = 0;
    std::span<const std::string_view> sources;
};

// A kind of card: part of its devices' names, its own link (0 where it has none over PCI Express), and the least that
// is normal by direction (to, from and both at once): of public outputs by copy engines and by kernels, and as measured
// for this project, pinned and then pageable, 0 where that is not known.
struct Kind {
    std::string_view match, name, vendor;
    unsigned generation, width;
    bool is_pcie, full_host;
    std::array<Public, 3> by_copy, by_kernel;
    std::array<double, 6> measured_low;
    double measured_typical;  // of pinned copies in one direction
};

const Rules& rules();
std::span<const Kind> kinds();
// By the longest part of its name, in any case; null where the table has none.
const Kind* kind_of(std::string_view name);
Public outputs_of(const Kind& kind, std::string_view method, std::string_view direction);
// Whether such a device sits on a baseboard, without a slot.
bool is_module(std::string_view name);
// The least share of the wire that copies of healthy cards reach.
double usual_share(std::string_view vendor, std::string_view method, unsigned generation);
// Bytes per second in one direction, after line coding; 0 where either is not known.
double wire_rate(unsigned generation, unsigned width);
// The English text of a key of src/isthmus/language that a verdict can have.
std::string_view text_of(std::string_view key);

}  // namespace isthmus::judging
