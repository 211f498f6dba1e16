// A check as programs that watch nodes take it.
#include "judge/styles.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <string_view>

#include "judge/table.hpp"

namespace isthmus::judging {
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

template <typename... Values>
std::string printed(const char* format, Values... values) {
    std::array<char, 512> text{};
    std::snprintf(text.data(), text.size(), format, values...);
    return text.data();
}

// The first clause, so that device and host are within what is kept of a line.
std::string reason_of(const Shown& shown) {
    // What a driver or a loader says begins with a name and a colon.
    constexpr std::array<std::string_view, 8> ends{"; ", ": ", ", ", ". ", "；", "：", "，", "。"};
    const std::size_t count = shown.is_failure ? 1 : ends.size();
    std::size_t end = shown.reason.size();
    for (const std::string_view each : std::span(ends).first(count)) end = std::min(end, shown.reason.find(each));
    if (!shown.is_failure) end = std::min(end, shown.reason.find("、"));
    const std::string reason = shown.reason.substr(0, end);
    return reason.ends_with('.') ? reason.substr(0, reason.size() - 1) : reason;
}

// Level, reason, device and host, cut from the end.
std::string line_of(const Shown& shown) {
    const std::string mark = shown.level == Level::none ? "UNKNOWN" : shown.mark;
    std::string line = mark + " " + reason_of(shown) + " " + shown.device + " " + shown.host;
    if (line.size() <= most_bytes) return line;
    // No half of a character.
    std::size_t end = most_bytes;
    while (end > 0 && (static_cast<unsigned char>(line[end]) & 0xC0U) == 0x80U) --end;
    return line.substr(0, end);
}

// Rates as Nagios' performance data: a warning and a critical threshold below which they are.
std::string performance(const std::vector<Shown>& all_shown) {
    std::vector<std::string> all;
    const bool is_of_several =
        std::ranges::any_of(all_shown, [&](const Shown& each) { return each.host != all_shown.front().host; });
    for (const Shown& shown : all_shown) {
        const std::string device = is_of_several ? shown.host + "_" + shown.device : shown.device;
        for (const Rate& rate : shown.rates) {
            const double low = rate.normals.empty() ? 0 : rate.normals[0].low;
            const std::string limits =
                low > 0 ? printed(";%.0f:;%.0f:", low, rules().faulty_ratio * low) : std::string();
            all.push_back(
                printed("'%s_%s_%s'=%.0fB", device.c_str(), rate.memory.c_str(), rate.direction.c_str(), rate.rate) +
                limits);
        }
    }
    return joined(all, " ");
}

// A text file with the labels of NVIDIA's dcgm-exporter.
std::string gauges(const std::vector<Shown>& all_shown) {
    const auto head = [](const char* name, const char* help) {
        return "# HELP " + std::string(name) + " " + help + "\n# TYPE " + name + " gauge\n";
    };
    const auto labels = [](const Shown& shown) {
        const std::string index = shown.index < 0 ? std::string() : std::to_string(shown.index);
        const std::string node = shown.device.starts_with("cuda:") ? "nvidia" + index : shown.device;
        return "gpu=" + quoted(index) + ",UUID=" + quoted(shown.uuid) + ",device=" + quoted(node) +
               ",modelName=" + quoted(shown.name) + ",Hostname=" + quoted(shown.host);
    };
    std::map<std::string, unsigned> failed;
    for (const Shown& shown : all_shown) failed[shown.host] += shown.is_failure ? 1 : 0;
    std::string failures, level, rates, normal, replays;
    for (const auto& [host, count] : failed) {
        failures.append("isthmus_check_failures{Hostname=").append(quoted(host)).append("} ");
        failures.append(std::to_string(count)).append("\n");
    }
    for (const Shown& shown : all_shown) {
        if (shown.is_failure && shown.index < 0) continue;
        constexpr std::array<int, 5> values{2, 1, 3, 0, 0};
        const std::string of_device = labels(shown);
        level.append("isthmus_check_level{").append(of_device).append("} ");
        level.append(std::to_string(values[static_cast<unsigned>(shown.level)])).append("\n");
        for (const Rate& rate : shown.rates) {
            const std::string which =
                printed(",memory=\"%s\",direction=\"%s\"} ", rate.memory.c_str(), rate.direction.c_str());
            rates.append("isthmus_check_bytes_per_second{").append(of_device).append(which);
            rates.append(printed("%.6g\n", rate.rate));
            if (rate.normals.empty()) continue;
            normal.append("isthmus_check_normal_bytes_per_second{").append(of_device).append(which);
            normal.append(printed("%.6g\n", rate.normals[0].low));
        }
        if (shown.replays) {
            replays.append("isthmus_check_link_replays{").append(of_device).append("} ");
            replays.append(std::to_string(*shown.replays)).append("\n");
        }
    }
    std::string all = head("isthmus_check_failures", "Devices that could not be checked.") + failures +
                      head("isthmus_check_level", "0 OK, 1 ATTENTION, 2 FAULT, 3 nothing to judge.") + level +
                      head("isthmus_check_bytes_per_second", "Rate of large copies; of both directions the sum.") +
                      rates + head("isthmus_check_normal_bytes_per_second", "The least that is normal.") + normal +
                      head("isthmus_check_link_replays", "Packets that were sent again since the driver was loaded.") +
                      replays;
    all.pop_back();
    return all;
}

// How many bytes the character of UTF-8 has that begins there; 0 where none does.
std::size_t character_bytes(std::string_view text) {
    const auto first = static_cast<unsigned char>(text.front());
    std::size_t bytes = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    if ((first >= 0x80 && first < 0xc2) || first > 0xf4 || bytes > text.size()) return 0;
    const bool continues = std::ranges::all_of(text.substr(1, bytes - 1), [](char c) { return (c & 0xc0) == 0x80; });
    return continues ? bytes : 0;
}

const Style& codes_of(const std::string& style) {
    return *std::ranges::find_if(styles, [&style](const Style& each) { return style == each.name; });
}

}  // namespace

std::string quoted(const std::string& text) {
    std::string all = "\"";
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t bytes = character_bytes(std::string_view(text).substr(at));
        const char c = text[at];
        if (c == '"' || c == '\\') all += '\\';
        // What drivers and files say may be no UTF-8, which a reader would refuse with all else.
        if (bytes == 0) {
            all += '?';
        } else {
            all += static_cast<unsigned char>(c) < 0x20 ? std::string(" ") : text.substr(at, bytes);
        }
        at += std::max(bytes, std::size_t{1});
    }
    return all + '"';
}

std::string joined(const std::vector<std::string>& parts, const char* between) {
    std::string all;
    for (const std::string& part : parts) all += (all.empty() ? "" : between) + part;
    return all;
}

bool is_style(const std::string& style) {
    return std::ranges::any_of(styles, [&style](const Style& each) { return style == each.name; });
}

int exit_code(const std::vector<Shown>& all, const std::string& style, bool strict) {
    const Style& codes = codes_of(style);
    const auto has = [&all](Level level) {
        return std::ranges::any_of(all, [level](const Shown& shown) { return shown.level == level; });
    };
    if (has(Level::fault)) return codes.fault;
    const int code = !has(Level::attention) ? 0 : strict ? codes.fault : codes.attention;
    return code == 0 && has(Level::none) ? codes.unknown : code;
}

std::string styled(std::vector<Shown> all, const std::string& style) {
    if (style == "prometheus") return gauges(all);
    std::ranges::stable_sort(all, {}, &Shown::level);
    std::vector<std::string> lines;
    lines.reserve(all.size());
    for (const Shown& shown : all) lines.push_back(line_of(shown));
    if (const std::string data = performance(all); style == "nagios" && !data.empty()) lines.front() += " | " + data;
    if (style == "npd" || style == "nhc") lines.resize(1);
    return joined(lines, "\n");
}

}  // namespace isthmus::judging
