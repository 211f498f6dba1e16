// What was measured of devices as runs of `isthmus check` have it: src/isthmus/record reads it.
#pragma once

#include <string>
#include <vector>

#include "check/facts.hpp"

namespace isthmus::checking {

// A JSON array with an object a device: `device`, `link` and `cases` as in a run file, or `failure`.
std::string as_runs(const std::vector<Facts>& all);

}  // namespace isthmus::checking
