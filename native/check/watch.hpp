// Watches links for hours without a copy: what flaps, and what only rests.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "check/sysfs.hpp"

namespace isthmus::checking {

// What NVML says of a device, which is asked seldom.
struct Reading {
    unsigned busy_percent = 0;
    std::optional<unsigned> replays;
};

// One link over time. What it cannot see it does not call right.
class Watcher {
  public:
    // At a time in seconds, which grows; `reading` where NVML was asked at this moment. Gives what is to be reported.
    std::vector<std::string> look(double seconds, const Look& look, const std::optional<Reading>& reading);
    unsigned long changes_at_rest() const { return at_rest_; }
    bool was_visible() const { return was_visible_; }

  private:
    struct Count {
        double seconds;
        unsigned long all;
    };
    bool is_above(std::deque<Count>& counts, double seconds, unsigned long all, double most) const;

    std::optional<Look> last_;
    bool was_visible_ = false;
    unsigned best_ = 0;        // the highest generation that was seen
    unsigned gone_looks_ = 0;  // looks in a row at which it was not visible, though it was before
    unsigned slow_looks_ = 0;  // readings in a row at which it was busy and slow
    unsigned long at_rest_ = 0;
    std::deque<Count> corrected_, replays_;
};

// Looks each second until `seconds` are over, or for ever where that is 0; prints what flaps as it does, and at last a
// line a device. Gives the exit code: 1 where anything flapped, 3 where no link is visible.
int watch(double seconds, const std::string& root);
// The same of looks that were kept, a line each: seconds, address, generation, width, most generation, corrected,
// nonfatal and fatal errors, then busy per cent and replays, or - where NVML was not asked; asleep in place of all but
// the first two.
int watch_kept(std::istream& looks);

}  // namespace isthmus::checking
