// A check as people and programs that watch nodes take it.
#include "check/styles.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "judge/table.hpp"

namespace isthmus::checking {
namespace {

// What node-problem-detector keeps of an output.
constexpr std::size_t most_bytes = 80;

// Exit codes: of a fault, of what needs attention, and where nothing was judged.
struct Style {
    const char* name;
    int fault, attention, unknown;
};
// People's own; Nagios and Meta's GCM; node-problem-detector; NHC; Prometheus' level is in its file.
constexpr std::array<Style, 7> styles{{{"", 1, 0, 0},
                                       {"plain", 1, 0, 3},
                                       {"nagios", 2, 1, 3},
                                       {"npd", 1, 0, 2},
                                       {"nhc", 1, 0, 1},
                                       {"prometheus", 0, 0, 0},
                                       {"json", 1, 0, 3}}};

using judging::Finding;
using judging::Level;
using judging::Rate;
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

// The first clause, so that device and host are within what is kept of a line.
std::string reason_of(const std::string& text, std::string_view ends = ";:,.") {
    for (std::size_t i = 0; i + 1 < text.size(); ++i) {
        if (ends.find(text[i]) != std::string_view::npos && text[i + 1] == ' ') {
            return text.substr(0, i);
        }
    }
    return text.ends_with('.') ? text.substr(0, text.size() - 1) : text;
}

std::string line_of(const Checked& each) {
    const bool is_unasked = !each.facts.failure.empty() && each.verdict.level == Level::none;
    // What a driver or a loader says begins with a name and a colon.
    const std::string reason =
        is_unasked ? reason_of(each.facts.failure, ";") : reason_of(english(each.verdict.findings.front().text));
    const char* const mark = each.verdict.level == Level::none ? "UNKNOWN" : word_of(each.verdict.level);
    std::string line = mark + (" " + reason) + " " + spec_of(each.facts) + " " + host_name();
    if (line.size() <= most_bytes) return line;
    line.resize(most_bytes);
    // No half of a character.
    while (!line.empty() && (static_cast<unsigned char>(line.back()) & 0xC0U) == 0x80U) line.pop_back();
    if (!line.empty() && static_cast<unsigned char>(line.back()) >= 0xC0U) line.pop_back();
    return line;
}

std::string quoted(const std::string& text) {
    std::string all = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') all += '\\';
        all += static_cast<unsigned char>(c) < 0x20 ? std::string(" ") : std::string(1, c);
    }
    return all + '"';
}

std::string joined(const std::vector<std::string>& parts, const char* between) {
    std::string all;
    for (const std::string& part : parts) all += (all.empty() ? "" : between) + part;
    return all;
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

// Rates as Nagios' performance data: a warning and a critical threshold below which they are.
std::string performance(const std::vector<Checked>& checked) {
    std::vector<std::string> all;
    for (const auto& [facts, verdict] : checked) {
        for (const Rate& rate : verdict.rates) {
            const double low = rate.normals.empty() ? 0 : rate.normals[0].low;
            const std::string limits =
                low > 0 ? printed(";%.0f:;%.0f:", low, judging::rules().faulty_ratio * low) : std::string();
            all.push_back(printed("'%s_%s_%s'=%.0fB", spec_of(facts).c_str(), rate.memory.c_str(),
                                  rate.direction.c_str(), rate.rate) +
                          limits);
        }
    }
    return joined(all, " ");
}

std::string label(const std::string& value) {
    std::string text = quoted(value);
    return text;
}

// A text file with the labels of NVIDIA's dcgm-exporter.
std::string gauges(const std::vector<Checked>& checked) {
    const std::string host = host_name();
    const auto head = [](const char* name, const char* help) {
        return "# HELP " + std::string(name) + " " + help + "\n# TYPE " + name + " gauge\n";
    };
    const auto labels = [&host](const Facts& facts) {
        const std::string index = std::to_string(facts.info.index);
        return "gpu=" + label(index) + ",UUID=" + label(facts.info.uuid) + ",device=" + label("nvidia" + index) +
               ",modelName=" + label(facts.info.name) + ",Hostname=" + label(host);
    };
    const auto failures =
        std::ranges::count_if(checked, [](const Checked& each) { return !each.facts.failure.empty(); });
    std::string level, rates, normal, replays;
    for (const auto& [facts, verdict] : checked) {
        constexpr std::array<int, 5> values{2, 1, 3, 0, 0};
        const std::string of_device = labels(facts);
        level.append("isthmus_check_level{").append(of_device).append("} ");
        level.append(std::to_string(values[static_cast<unsigned>(verdict.level)])).append("\n");
        for (const Rate& rate : verdict.rates) {
            const std::string which =
                printed(",memory=\"%s\",direction=\"%s\"} ", rate.memory.c_str(), rate.direction.c_str());
            rates.append("isthmus_check_bytes_per_second{").append(of_device).append(which);
            rates.append(printed("%.6g\n", rate.rate));
            if (rate.normals.empty()) continue;
            normal.append("isthmus_check_normal_bytes_per_second{").append(of_device).append(which);
            normal.append(printed("%.6g\n", rate.normals[0].low));
        }
        if (facts.loaded.replays) {
            replays.append("isthmus_check_link_replays{").append(of_device).append("} ");
            replays.append(std::to_string(*facts.loaded.replays)).append("\n");
        }
    }
    std::string all = head("isthmus_check_failures", "Devices that could not be checked.") +
                      "isthmus_check_failures{Hostname=" + label(host) + "} " + std::to_string(failures) + "\n" +
                      head("isthmus_check_level", "0 OK, 1 ATTENTION, 2 FAULT, 3 nothing to judge.") + level +
                      head("isthmus_check_bytes_per_second", "Rate of large copies; of both directions the sum.") +
                      rates + head("isthmus_check_normal_bytes_per_second", "The least that is normal.") + normal +
                      head("isthmus_check_link_replays", "Packets that were sent again since the driver was loaded.") +
                      replays;
    all.pop_back();
    return all;
}

}  // namespace

bool is_style(const std::string& style) {
    return std::ranges::any_of(styles, [&style](const Style& each) { return style == each.name; });
}

std::pair<std::string, int> styled(const std::vector<Checked>& checked, const std::string& style, bool strict) {
    std::vector<Checked> ordered = checked;
    std::ranges::stable_sort(ordered, {}, [](const Checked& each) { return each.verdict.level; });
    const Level worst = ordered.front().verdict.level;
    const bool has_unknown =
        std::ranges::any_of(ordered, [](const Checked& each) { return each.verdict.level == Level::none; });
    const Style& codes = *std::ranges::find_if(styles, [&style](const Style& each) { return style == each.name; });
    int code = worst == Level::fault                 ? codes.fault
               : worst == Level::attention && strict ? codes.fault
               : worst == Level::attention           ? codes.attention
                                                     : 0;
    if (code == 0 && has_unknown) code = codes.unknown;
    std::vector<std::string> lines;
    lines.reserve(ordered.size());
    for (const Checked& each : ordered) {
        lines.push_back(style == "json" ? json_of(each) : style.empty() ? for_people(each) : line_of(each));
    }
    if (style == "json") return {"[" + joined(lines, ",\n") + "]", code};
    if (style == "prometheus") return {gauges(checked), code};
    if (style.empty()) return {joined(lines, "\n\n"), code};
    if (const std::string data = performance(ordered); style == "nagios" && !data.empty())
        lines.front() += " | " + data;
    if (style == "npd" || style == "nhc") lines.resize(1);
    return {joined(lines, "\n"), code};
}

}  // namespace isthmus::checking
