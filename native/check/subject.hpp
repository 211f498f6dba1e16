// What was measured and read of a device, as the rules take it.
#pragma once

#include <string>
#include <vector>

#include "check/facts.hpp"
#include "judge/verdict.hpp"

namespace isthmus::checking {

struct Checked {
    Facts facts;
    judging::Verdict verdict;
};

// Each device is held against those of its name, too.
std::vector<Checked> judged_together(const std::vector<Facts>& all);

// A text in English.
std::string english(const judging::Text& text);

}  // namespace isthmus::checking
