// What rates are normal for a device, by the classes of evidence that the table and its link give.
#pragma once

#include <string_view>
#include <vector>

#include "judge/table.hpp"
#include "judge/verdict.hpp"

namespace isthmus::judging {

// "PCIe 5.0 x16"; 0 is what is not known.
struct Speed {
    unsigned generation = 0, width = 0;
    double carries() const { return wire_rate(generation, width); }
    std::string name() const;
    bool operator==(const Speed&) const = default;
};

Speed in_use(const Link& link);
// Whether a tool read the card alone: what the slot can do is not in its output. nvidia-smi reads generations of both.
bool is_card_only(const Link& link);
// The link whose theory applies: the best of both ends where that is known, else the fastest read, else the card's own
// if every host can do as much.
Speed link_of_theory(const Subject& subject, const Kind* kind);
// The least share of its link that copies of a healthy device reach.
double usual_share(const Subject& subject, const Kind* kind, unsigned generation, std::string_view method);
// What else than measuring says so of a pinned rate, the best evidence first.
std::vector<Normal> normals_of(const Subject& subject, const Kind* kind, const Rate& rate);

}  // namespace isthmus::judging
