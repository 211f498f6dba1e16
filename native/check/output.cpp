// What the program prints: a screen for people, JSON, or a style that programs take.
#include "check/output.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "judge/styles.hpp"

namespace isthmus::checking {
namespace {

using judging::Finding;
using judging::joined;
using judging::Level;
using judging::quoted;
using judging::Rate;
using judging::Shown;
using judging::word_of;

template <typename... Values>
std::string printed(const char* format, Values... values) {
    std::array<char, 512> text{};
    std::snprintf(text.data(), text.size(), format, values...);
    return text.data();
}

std::string host_name() {
    std::array<char, 256> name{};
    gethostname(name.data(), name.size() - 1);
    return name.data();
}

std::string spec_of(const Facts& facts) {
    return "cuda:" + std::to_string(facts.info.index);
}

std::string number_or_null(const std::optional<unsigned>& value) {
    return value ? std::to_string(*value) : "null";
}

std::string json_of(const Checked& each) {
    const auto& [facts, verdict] = each;
    std::vector<std::string> points, rates;
    for (const Finding& finding : verdict.findings) {
        std::vector<std::string> cures;
        cures.reserve(finding.cures.size());
        for (const judging::Text& cure : finding.cures) cures.push_back(quoted(english(cure)));
        points.push_back("{\"level\":" + quoted(word_of(finding.level)) + ",\"topic\":" + quoted(finding.topic) +
                         ",\"text\":" + quoted(english(finding.text)) + ",\"do\":[" + joined(cures, ",") + "]}");
    }
    for (const Rate& rate : verdict.rates) {
        const std::string normal = rate.normals.empty() ? std::string("null")
                                                        : printed("{\"low\":%.0f,\"basis\":\"%s\"}",
                                                                  rate.normals[0].low, rate.normals[0].basis.c_str());
        rates.push_back(printed("{\"memory\":\"%s\",\"direction\":\"%s\",\"bytes\":%zu,\"bytes_per_second\":%.0f,"
                                "\"noise\":%.4f,\"normal\":",
                                rate.memory.c_str(), rate.direction.c_str(), facts.bytes, rate.rate, rate.noise) +
                        normal + "}");
    }
    const LinkReading& link = facts.loaded;
    return "{\"format\":\"isthmus.check\",\"device\":" + quoted(spec_of(facts)) +
           ",\"name\":" + quoted(facts.info.name) + ",\"uuid\":" + quoted(facts.info.uuid) +
           ",\"pci_address\":" + quoted(facts.info.pci_address) + ",\"host\":" + quoted(host_name()) +
           ",\"level\":" + quoted(word_of(verdict.level)) + ",\"points\":[" + joined(points, ",") +
           "],\"link\":{\"generation\":" + number_or_null(link.generation) +
           ",\"width\":" + number_or_null(link.width) + ",\"max_generation\":" + number_or_null(link.max_generation) +
           ",\"max_width\":" + number_or_null(link.max_width) + "},\"replays\":" + number_or_null(link.replays) +
           ",\"clocks\":" + quoted(facts.throttling) +
           ",\"numa_node\":" + (facts.near_node ? std::to_string(*facts.near_node) : "null") + ",\"rates\":[" +
           joined(rates, ",") + "]}";
}

std::string for_people(const Checked& each) {
    const auto& [facts, verdict] = each;
    const char* const mark = verdict.level == Level::none ? "--" : word_of(verdict.level);
    std::string all = std::string(mark) + "  " + spec_of(facts) + "  " + facts.info.name + "  " + facts.info.uuid;
    for (const Finding& finding : verdict.findings) {
        const bool is_shown = finding.level <= Level::none || &finding == verdict.findings.data();
        if (!is_shown) continue;
        all += "\n    " + english(finding.text);
        if (finding.cause) all += "\n    -> " + english(*finding.cause);
        for (const judging::Text& cure : finding.cures) all += "\n    -> " + english(cure);
    }
    for (const Rate& rate : verdict.rates) {
        all += printed("\n    %-8s %-4s %6.2f GB/s", rate.memory.c_str(), rate.direction.c_str(), rate.rate / 1e9);
        if (!rate.normals.empty()) all += printed("  normal %.2f or more", rate.normals[0].low / 1e9);
    }
    const LinkReading& link = facts.loaded;
    if (link.generation && link.width) {
        all += printed("\n    PCIe %u.0 x%u under load, %u.0 x%u at most", *link.generation, *link.width,
                       link.max_generation.value_or(0), link.max_width.value_or(0));
    }
    return all;
}

Shown shown(const Checked& each) {
    const auto& [facts, verdict] = each;
    const bool is_unasked = !facts.failure.empty() && verdict.level == Level::none;
    return {.level = verdict.level,
            .is_failure = !facts.failure.empty(),
            .mark = word_of(verdict.level),
            .reason = is_unasked ? facts.failure : english(verdict.findings.front().text),
            .device = spec_of(facts),
            .host = host_name(),
            .name = facts.info.name,
            .uuid = facts.info.uuid,
            .index = facts.info.index,
            .rates = verdict.rates,
            .replays = facts.loaded.replays};
}

}  // namespace

std::pair<std::string, int> output(std::vector<Checked> checked, const std::string& style, bool strict) {
    std::ranges::stable_sort(checked, {}, [](const Checked& each) { return each.verdict.level; });
    std::vector<Shown> all;
    std::vector<std::string> parts;
    all.reserve(checked.size());
    parts.reserve(checked.size());
    for (const Checked& each : checked) {
        all.push_back(shown(each));
        parts.push_back(style == "json" ? json_of(each) : style.empty() ? for_people(each) : std::string());
    }
    const int code = judging::exit_code(all, style, strict);
    if (style.empty()) return {joined(parts, "\n\n"), code};
    return {style == "json" ? "[" + joined(parts, ",\n") + "]" : judging::styled(std::move(all), style), code};
}

}  // namespace isthmus::checking
