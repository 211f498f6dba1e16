// A check as people and programs that watch nodes take it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "check/subject.hpp"

namespace isthmus::checking {

bool is_style(const std::string& style);
// What to print, without a newline at its end, and the exit code. "" is for people. Level, reason, device and host come
// first, in this order, of 80 bytes at most; exit codes are what each consumer expects.
std::pair<std::string, int> styled(const std::vector<Checked>& checked, const std::string& style, bool strict);

}  // namespace isthmus::checking
