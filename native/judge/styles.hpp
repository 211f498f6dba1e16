// A check as programs that watch nodes take it: a first line of 80 bytes, and exit codes of their own.
//
// Nagios and Meta's GCM: 0 OK, 1 warning, 2 critical, 3 unknown. node-problem-detector: 0 OK, 1 a problem, 2 unknown,
// 80 bytes. NHC: a check dies with a line. Prometheus: a text file with the labels of NVIDIA's dcgm-exporter.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "judge/verdict.hpp"

namespace isthmus::judging {

// A device whose verdict is shown, or one that was not checked, for the reason that it gives.
struct Shown {
    Level level = Level::none;
    bool is_failure = false;
    std::string mark;    // the level in the user's language
    std::string reason;  // the gravest finding
    std::string device, host, name, uuid;
    int index = -1;  // or unknown
    std::vector<Rate> rates;
    std::optional<unsigned> replays;
};

// plain, nagios, npd, nhc, prometheus and json; "" is for people.
bool is_style(const std::string& style);
// That of the worst device. Precondition: `is_style(style)`.
int exit_code(const std::vector<Shown>& all, const std::string& style, bool strict);
// What to print in a style of lines or of gauges, without a newline at its end. Precondition: `all` is not empty.
std::string styled(std::vector<Shown> all, const std::string& style);

// A text in quotation marks, as JSON and Prometheus have it.
std::string quoted(const std::string& text);
std::string joined(const std::vector<std::string>& parts, const char* between);

}  // namespace isthmus::judging
