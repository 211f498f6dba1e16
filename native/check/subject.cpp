// What was measured and read of a device, as the rules take it, and what they say in English.
#include "check/subject.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include "judge/table.hpp"

namespace isthmus::checking {
namespace {

using judging::Kind;

struct Named {
    const char *memory, *direction;
    unsigned measured;  // its place in the table
};
constexpr std::array<Named, rate_count> names{{{"pinned", "h2d", 0},
                                               {"pinned", "d2h", 1},
                                               {"pinned", "both", 2},
                                               {"pageable", "h2d", 3},
                                               {"pageable", "d2h", 4}}};

judging::Link link_of(const LinkReading& reading, const std::optional<unsigned>& replays, bool is_loaded) {
    return {reading.generation, reading.width, reading.max_generation, reading.max_width, replays, is_loaded, ""};
}

bool is_read(const LinkReading& reading) {
    return reading.generation || reading.width || reading.max_generation || reading.max_width || reading.replays;
}

// What was measured for this project was measured at the link of the table, without encryption.
bool is_like(const Kind* kind, const Facts& facts) {
    const auto confidential = facts.info.conditions.find("confidential_computing");
    if (kind == nullptr || (confidential != facts.info.conditions.end() && confidential->second == "on")) return false;
    const LinkReading& link = facts.loaded;
    if (judging::is_module(facts.info.name)) {
        return link.max_generation.value_or(kind->generation) == kind->generation &&
               link.max_width.value_or(kind->width) == kind->width;
    }
    return !link.max_generation || !link.max_width ||
           (*link.max_generation == kind->generation && *link.max_width == kind->width);
}

judging::Rate rate_of(const Facts& facts, unsigned which, const Kind* kind) {
    judging::Rate rate;
    rate.memory = names[which].memory;
    rate.direction = names[which].direction;
    rate.method = "copy";
    rate.bytes = static_cast<double>(facts.bytes);
    rate.rate = facts.rates[which].rate;
    rate.noise = facts.rates[which].noise;
    rate.size = std::to_string(facts.bytes >> 20) + " MiB";
    if (!is_like(kind, facts)) return rate;
    rate.typical = kind->measured_typical;
    if (const double low = kind->measured_low[names[which].measured]; low > 0) {
        rate.normals.push_back({"measured", low, 0, {}});
    }
    return rate;
}

judging::Subject subject_of(const Facts& facts, const std::vector<Facts>& all) {
    judging::Subject subject;
    const DeviceInfo& info = facts.info;
    const Kind* const kind = judging::kind_of(info.name);
    subject.backend = "cuda";
    subject.name = info.name;
    subject.uuid = info.uuid;
    subject.pci_address = info.pci_address;
    subject.crosses_link = !info.shares_host_memory && (kind == nullptr || kind->is_pcie);
    subject.is_wrong = facts.is_wrong;
    subject.conditions = info.conditions;
    subject.conditions["throttling"] = facts.throttling;
    if (is_read(facts.loaded)) {
        // at rest it has no more than packets sent again.
        subject.links = {link_of({}, info.link.replays, false), link_of(facts.loaded, facts.loaded.replays, true)};
    }
    for (unsigned which = 0; which < rate_count; ++which) {
        if (facts.rates[which].rate <= 0) continue;
        judging::Rate rate = rate_of(facts, which, kind);
        for (const Facts& other : all) {
            const bool is_alike = other.info.name == info.name && other.failure.empty();
            if (is_alike && other.rates[which].rate > 0) rate.alike.push_back(other.rates[which].rate);
        }
        subject.rates.push_back(std::move(rate));
    }
    subject.bound_node = facts.bound_node;
    subject.near_node = facts.near_node;
    subject.failure = facts.failure;
    return subject;
}

std::string printed(const judging::Value& value, const std::string& name) {
    if (const auto* number = std::get_if<double>(&value)) {
        std::array<char, 64> text{};
        std::snprintf(text.data(), text.size(), "%.0f", *number);
        return text.data();
    }
    if (const auto* text = std::get_if<std::string>(&value)) {
        if (name != "memory") return *text;
        return *text == "pinned" ? "Pinned" : "Pageable memory";
    }
    std::string all;
    for (const std::string& each : std::get<std::vector<std::string>>(value)) all += (all.empty() ? "" : ", ") + each;
    return all;
}

}  // namespace

std::vector<Checked> judged_together(const std::vector<Facts>& all) {
    std::vector<Checked> checked;
    checked.reserve(all.size());
    for (const Facts& facts : all) checked.push_back({facts, judging::judged(subject_of(facts, all))});
    return checked;
}

std::string english(const judging::Text& message) {
    std::string sentence;
    std::string_view text = judging::text_of(message.key);
    while (!text.empty()) {
        const std::size_t open = std::min(text.find('{'), text.size());
        sentence += text.substr(0, open);
        text.remove_prefix(open);
        const std::size_t close = text.find('}');
        if (close == std::string_view::npos) return sentence.append(text);
        const std::string name(text.substr(1, std::min(close, text.find(':')) - 1));
        const auto value = message.values.find(name);
        sentence += value != message.values.end() ? printed(value->second, name) : name;
        text.remove_prefix(close + 1);
    }
    return sentence;
}

}  // namespace isthmus::checking
