// What the program prints: a screen for people, JSON, or a style that programs take.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "check/subject.hpp"

namespace isthmus::checking {

// Without a newline at its end, and the exit code; style "" is for people. Precondition: `checked` is not empty.
std::pair<std::string, int> output(std::vector<Checked> checked, const std::string& style, bool strict);

}  // namespace isthmus::checking
