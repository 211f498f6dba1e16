// What is wrong with a device's link by itself.
#include "judge/link.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

namespace isthmus::judging {
namespace {

// What copies reach of a link, lower and upper end: which link a rate is like.
constexpr std::array<double, 2> like{0.70, 0.95};

bool is_below(const std::optional<unsigned>& now, const std::optional<unsigned>& most) {
    return now.value_or(0) != 0 && *now < most.value_or(0);
}

// "5,000".
std::string grouped(unsigned count) {
    std::string text = std::to_string(count);
    for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, 1, ',');
    return text;
}

// The link with the most that both ends can do, and nothing for what only one end was asked.
Link of_both_ends(const Subject& subject, const Kind* kind, Link link) {
    if (is_module(subject.name)) {
        if (kind == nullptr) return link;
        if (link.max_generation.value_or(0) == 0 && kind->generation != 0) link.max_generation = kind->generation;
        if (link.max_width.value_or(0) == 0 && kind->width != 0) link.max_width = kind->width;
    } else if (is_card_only(link)) {
        if (link.source != "nvidia-smi") link.max_generation.reset();
        link.max_width.reset();
    }
    return link;
}

Text degraded(const Link& link, double fastest, double typical) {
    const Speed now = in_use(link);
    const Speed best{link.max_generation.value_or(now.generation), link.max_width.value_or(now.width)};
    const double possible = typical > 0 ? typical : best.carries();
    Text text{"health.link_degraded", {{"now", now.name()}, {"best", best.name()}}};
    if (fastest <= 0 || possible <= 0) return text;
    text.key = "health.link_degraded_rate";
    text.values["rate"] = rate_in_words(fastest);
    text.values["percent"] = 100 * fastest / possible;
    text.values["full"] = rate_in_words(possible);
    return text;
}

// A link as another tool printed it, which may have been at rest and may be of the card alone.
std::vector<Finding> posted(const Link& read, const Link& link, double fastest) {
    if (!is_card_only(read) && read.source != "lspci with port") return {};
    const Speed best{read.max_generation.value_or(0), read.max_width.value_or(0)};
    const std::map<std::string, Value> now{{"now", in_use(read).name()}};
    const std::map<std::string, Value> both{{"now", in_use(read).name()}, {"best", best.name()}};
    const bool is_slower = is_below(read.generation, read.max_generation);
    if (is_below(read.width, read.max_width) || (is_slower && read.is_loaded)) {
        return {{Level::attention,
                 "link",
                 {"health.link_below_card", both},
                 {{"health.link_below_card_do", {}}},
                 std::nullopt}};
    }
    if (is_slower) {
        return {{Level::note, "link_idle", {"health.link_idle", both}, {{"health.link_idle_do", {}}}, std::nullopt}};
    }
    if (fastest > 0 || link.width.value_or(0) == 0) return {};
    const bool is_whole = link.max_generation.value_or(0) != 0 && link.max_width.value_or(0) != 0;
    return {{Level::ok, "link", {is_whole ? "health.link_ok" : "health.link_ok_card", now}, {}, std::nullopt}};
}

}  // namespace

std::string rate_in_words(double bytes_per_second) {
    struct Unit {
        double factor;
        const char* name;
    };
    constexpr std::array<Unit, 4> units{{{1e9, " GB/s"}, {1e6, " MB/s"}, {1e3, " kB/s"}, {1, " B/s"}}};
    const Unit& unit = *std::ranges::find_if(
        units.begin(), units.end() - 1, [&](const Unit& each) { return bytes_per_second >= each.factor * 0.9995; });
    const double value = bytes_per_second / unit.factor;
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), value < 9.995 ? "%.2f" : value < 99.95 ? "%.1f" : "%.0f", value);
    return std::string(value == 0 ? "0" : text.data()) + unit.name;
}

std::vector<Text> mended(const Subject& subject) {
    std::vector<Text> all{{is_module(subject.name) ? "health.reseat_module" : "health.reseat", {}}};
    const auto known = [](const std::string& text) { return text.empty() ? std::string("?") : text; };
    if (subject.backend == "cuda") {
        all.push_back({"health.vendor_asks", {{"uuid", known(subject.uuid)}, {"address", known(subject.pci_address)}}});
    }
    return all;
}

std::vector<Finding> link_findings(const Subject& subject, const Kind* kind, double fastest, double typical) {
    if (subject.links.empty()) return {};
    std::vector<Speed> loaded;
    for (const Link& link : subject.links) {
        if (link.is_loaded && std::ranges::find(loaded, in_use(link)) == loaded.end()) loaded.push_back(in_use(link));
    }
    const Link& read = subject.links.back();
    if (loaded.size() > 1) {
        const std::map<std::string, Value> ends{{"before", in_use(subject.links.front()).name()},
                                                {"after", in_use(read).name()}};
        return {{Level::fault, "link", {"health.link_changed", ends}, mended(subject), std::nullopt}};
    }
    const Link link = of_both_ends(subject, kind, read);
    const bool is_worse = is_below(link.generation, link.max_generation) || is_below(link.width, link.max_width);
    if (!link.is_loaded || !is_worse) return posted(read, link, fastest);
    const double carries = in_use(link).carries();
    if (carries > 0 && fastest > rules().above * carries) {
        const std::map<std::string, Value> values{{"now", in_use(link).name()}, {"rate", rate_in_words(fastest)}};
        return {{Level::attention, "link_reading", {"health.link_unlike_rate", values}, {}, std::nullopt}};
    }
    return {{Level::fault, "link", degraded(link, fastest, typical), mended(subject), std::nullopt}};
}

std::vector<Finding> error_findings(const Subject& subject) {
    std::vector<Finding> all;
    const auto condition = [&](const char* name) {
        const auto value = subject.conditions.find(name);
        return value == subject.conditions.end() ? std::string() : value->second;
    };
    const auto count = [&](const char* name) { return std::strtoul(condition(name).c_str(), nullptr, 10); };
    const auto add = [&](Level level, const char* topic, const char* key, std::string counted) {
        all.push_back({level, topic, {key, {{"count", std::move(counted)}}}, {}, std::nullopt});
        if (level != Level::note) all.back().cures = mended(subject);
    };
    if (const std::string sign = condition("off_bus"); !sign.empty()) {
        all.push_back({Level::fault, "off_bus", {"health.off_bus", {{"sign", sign}}}, mended(subject), std::nullopt});
    }
    if (count("aer_fatal") > 0) {
        add(Level::fault, "aer", "health.aer_fatal", condition("aer_fatal"));
    } else if (count("aer_nonfatal") > 0) {
        add(Level::attention, "aer", "health.aer_nonfatal", condition("aer_nonfatal"));
    } else if (static_cast<double>(count("aer_corrected")) > rules().many_corrected) {
        add(Level::attention, "aer", "health.aer_corrected", condition("aer_corrected"));
    } else if (count("aer_corrected") > 0) {
        add(Level::note, "aer", "health.aer_few", condition("aer_corrected"));
    }
    std::vector<unsigned> replays;
    for (const Link& link : subject.links) {
        if (link.replays) replays.push_back(*link.replays);
    }
    if (replays.size() == 2 && replays[1] > replays[0]) {
        add(Level::attention, "replays", "health.replays", std::to_string(replays[1] - replays[0]));
    } else if (!replays.empty() && std::ranges::max(replays) >= rules().many_replays) {
        add(Level::note, "replays_before", "health.replays_before", grouped(std::ranges::max(replays)));
    }
    return all;
}

std::optional<Text> like_links(const Subject& subject, const Kind* kind, double rate) {
    if (!subject.links.empty() || kind == nullptr || !kind->is_pcie || kind->generation == 0) return std::nullopt;
    std::vector<std::string> names;
    for (unsigned generation = kind->generation; generation > 0; --generation) {
        for (const unsigned width : {16U, 8U, 4U, 2U, 1U}) {
            const Speed link{generation, width};
            const bool is_own = link == Speed{kind->generation, kind->width};
            const bool is_like = like[0] * link.carries() <= rate && rate <= like[1] * link.carries();
            if (width <= kind->width && !is_own && is_like) names.push_back(link.name());
        }
    }
    if (names.empty()) return std::nullopt;
    return Text{"health.like_links", {{"links", std::move(names)}}};
}

}  // namespace isthmus::judging
