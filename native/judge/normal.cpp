// What rates are normal: public outputs, the theory of the link, other devices of the machine, the card's own link.
#include "judge/normal.hpp"

#include <algorithm>

namespace isthmus::judging {
namespace {

double median(std::vector<double> values) {
    std::ranges::sort(values);
    const std::size_t middle = values.size() / 2;
    return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

Speed at_best(const Link& link) {
    const Speed now = in_use(link);
    if (is_card_only(link)) return now;
    const unsigned generation = link.max_generation.value_or(0), width = link.max_width.value_or(0);
    return {generation != 0 ? generation : now.generation, width != 0 ? width : now.width};
}

}  // namespace

std::string Speed::name() const {
    const auto known = [](unsigned part) { return part == 0 ? std::string("?") : std::to_string(part); };
    return "PCIe " + known(generation) + ".0 x" + known(width);
}

Speed in_use(const Link& link) {
    return {link.generation.value_or(0), link.width.value_or(0)};
}

bool is_card_only(const Link& link) {
    return link.source == "nvidia-smi" || link.source == "lspci";
}

Speed link_of_theory(const Subject& subject, const Kind* kind) {
    if (kind != nullptr && !kind->is_pcie) return {};
    Speed best;
    for (const Link& link : subject.links) {
        if (const Speed each = at_best(link); each.carries() > best.carries()) best = each;
    }
    if (best.carries() > 0) return best;
    return kind != nullptr && kind->full_host ? Speed{kind->generation, kind->width} : Speed{};
}

double usual_share(const Subject& subject, const Kind* kind, unsigned generation, std::string_view method) {
    const std::string_view vendor = subject.backend == "cuda" ? "NVIDIA"
                                    : kind != nullptr         ? kind->vendor
                                                              : std::string_view(subject.vendor);
    return usual_share(vendor, method, generation);
}

std::vector<Normal> normals_of(const Subject& subject, const Kind* kind, const Rate& rate) {
    std::vector<Normal> all;
    const Public outputs = kind != nullptr ? outputs_of(*kind, rate.method, rate.direction) : Public{};
    if (outputs.low > 0) {
        all.push_back(
            {"public", outputs.low, outputs.sources.size(), {outputs.sources.begin(), outputs.sources.end()}});
    }
    const auto add_theory = [&](const char* basis, const Speed& link) {
        if (rate.direction == "both" || link.carries() <= 0) return;
        const double share = usual_share(subject, kind, link.generation, rate.method);
        all.push_back({basis, share * link.carries(), 0, {}});
    };
    add_theory("theory", link_of_theory(subject, kind));
    if (static_cast<double>(rate.alike.size()) >= rules().least_alike) {
        all.push_back({"alike", rules().alike * median(rate.alike), rate.alike.size(), {}});
    }
    // In a slot that may have less than the card: never enough for a fault.
    if (all.empty() && kind != nullptr && kind->is_pcie) add_theory("card", {kind->generation, kind->width});
    return all;
}

}  // namespace isthmus::judging
