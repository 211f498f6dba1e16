// What is wrong with a device's link by itself: what it runs at, what both ends can do, and errors that were logged.
#pragma once

#include <vector>

#include "judge/normal.hpp"

namespace isthmus::judging {

// "55.3 GB/s", three digits as `format_rate` of src/isthmus/record/units.py.
std::string rate_in_words(double bytes_per_second);

// What mends a link, by what the card is plugged into, and what a vendor asks for where that does not.
std::vector<Text> mended(const Subject& subject);
// A link that changed, or that is slower or narrower than both ends. `fastest` is the best rate in one direction, or 0;
// `typical` what it is on healthy machines, or 0.
std::vector<Finding> link_findings(const Subject& subject, const Kind* kind, double fastest, double typical);
// What the kernel logged, and packets that were sent again.
std::vector<Finding> error_findings(const Subject& subject);
// Which narrower or older links a rate is like, where the link was not read.
std::optional<Text> like_links(const Subject& subject, const Kind* kind, double rate);

}  // namespace isthmus::judging
