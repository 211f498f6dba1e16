// Watches links for hours without a copy.
#include "check/watch.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <ctime>
#include <iostream>
#include <map>
#include <sstream>
#include <thread>

#include "backend/cuda/describe.hpp"
#include "base/clock.hpp"
#include "check/children.hpp"
#include "judge/table.hpp"

namespace isthmus::checking {
namespace {

constexpr double hour = 3600, asked_seconds = 10;
// One reading may be of a moment ago: a device that has just come to rest is still called busy.
constexpr unsigned least_slow_looks = 2;
constexpr unsigned least_gone_looks = 2;

std::string link_text(unsigned generation, unsigned width) {
    return "PCIe " + std::to_string(generation) + ".0 x" + std::to_string(width);
}

void print(const std::string& address, const std::string& text) {
    std::array<char, 32> when{};
    const std::time_t seconds = std::time(nullptr);
    std::tm parts{};
    std::strftime(when.data(), when.size(), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&seconds, &parts));
    std::cout << when.data() << " " << address << " " << text << "\n" << std::flush;
}

volatile std::sig_atomic_t is_over = 0;

// One line a device, and the exit code.
int summary(const std::map<std::string, Watcher>& watchers, const std::map<std::string, unsigned>& flaps) {
    unsigned long all = 0;
    bool sees = false;
    for (const auto& [address, watcher] : watchers) {
        const unsigned count = flaps.contains(address) ? flaps.at(address) : 0;
        all += count;
        sees = sees || watcher.was_visible();
        if (!watcher.was_visible()) {
            std::cout << "UNKNOWN " << address << " the link is not visible\n";
            continue;
        }
        std::cout << (count > 0 ? "FAULT " : "OK ") << address;
        if (count > 0) {
            std::cout << " flaps: " << count;
        } else {
            std::cout << " no flap";
        }
        std::cout << ", changes at rest: " << watcher.changes_at_rest() << "\n";
    }
    std::cout.flush();
    return all > 0 ? 1 : sees ? 0 : 3;
}

// NVML in a process of its own, which may hang: it prints a line a device every ten seconds.
class NvmlReader {
  public:
    explicit NvmlReader(const std::vector<std::string>& addresses) {
        std::array<int, 2> ends{-1, -1};
        if (pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) return;
        const pid_t parent = getpid();
        process_ = fork();
        if (process_ == 0) {
            begin_child(parent, ends[1]);
            std::signal(SIGINT, SIG_IGN);
            read_for_ever(addresses, ends[1], parent);
            _exit(0);
        }
        close(ends[1]);
        descriptor_ = ends[0];
    }
    ~NvmlReader() {
        if (descriptor_ >= 0) close(descriptor_);
        if (process_ > 0) kill(process_, SIGKILL);
        if (process_ > 0) waitpid(process_, nullptr, WNOHANG);
    }
    NvmlReader(const NvmlReader&) = delete;
    NvmlReader& operator=(const NvmlReader&) = delete;

    // What came since the last call.
    std::map<std::string, Reading> take() {
        std::array<char, 4096> some{};
        for (ssize_t received = 0; (received = read(descriptor_, some.data(), some.size())) > 0;) {
            text_.append(some.data(), static_cast<std::size_t>(received));
        }
        std::map<std::string, Reading> readings;
        for (std::size_t end = text_.find('\n'); end != std::string::npos; end = text_.find('\n')) {
            std::istringstream line(text_.substr(0, end));
            text_.erase(0, end + 1);
            std::string address;
            Reading reading;
            long replays = -1;
            line >> address >> reading.busy_percent >> replays;
            if (replays >= 0) reading.replays = static_cast<unsigned>(replays);
            readings[address] = reading;
        }
        return readings;
    }

  private:
    static void read_for_ever(const std::vector<std::string>& addresses, int descriptor, pid_t parent) {
        auto api = nvml::Api::open();
        if (!api.ok()) return;
        const cuda::Driver driver{{}, api.value()};
        // As long as the watching process lives, which may be the first one of a container.
        while (getppid() == parent) {
            for (const std::string& address : addresses) {
                if (look_at(address).is_asleep) continue;
                const auto busy = cuda::read_busy_percent(driver, address);
                if (!busy) continue;
                const auto replays = cuda::read_link(driver, address).replays;
                const std::string line =
                    address + " " + std::to_string(*busy) + " " + (replays ? std::to_string(*replays) : "-1") + "\n";
                if (write(descriptor, line.data(), line.size()) < 0 && errno != EAGAIN) return;
            }
            std::this_thread::sleep_for(std::chrono::duration<double>(asked_seconds));
        }
    }

    pid_t process_ = -1;
    int descriptor_ = -1;
    std::string text_;
};

}  // namespace

// Whether so many came within an hour; then it counts anew, so that one burst is one report.
bool Watcher::is_above(std::deque<Count>& counts, double seconds, unsigned long all, double most) const {
    if (!counts.empty() && all < counts.back().all) counts.clear();  // the driver was loaded anew
    if (counts.empty() || counts.back().all != all || seconds - counts.back().seconds >= 60) {
        counts.push_back({seconds, all});
    }
    while (counts.size() > 1 && seconds - counts.front().seconds > hour) counts.pop_front();
    if (static_cast<double>(all - counts.front().all) <= most) return false;
    counts.clear();
    counts.push_back({seconds, all});
    return true;
}

std::vector<std::string> Watcher::look(double seconds, const Look& look, const std::optional<Reading>& reading) {
    std::vector<std::string> reports;
    if (look.is_asleep || !look.is_visible) {
        slow_looks_ = 0;
        gone_looks_ = look.is_asleep || !was_visible_ ? 0 : gone_looks_ + 1;
        // One look may fall into a reset.
        if (gone_looks_ == least_gone_looks) reports.emplace_back("the link is no longer visible");
        return reports;
    }
    gone_looks_ = 0;
    was_visible_ = true;
    best_ = std::max({best_, look.generation, look.most_generation});
    const bool is_slow = look.generation < best_;
    if (last_ && last_->width != look.width) {
        reports.push_back("the link's width changed: " + link_text(last_->generation, last_->width) + ", then " +
                          link_text(look.generation, look.width));
    } else if (last_ && last_->generation != look.generation) {
        ++at_rest_;
    }
    if (reading) {
        const bool is_busy = reading->busy_percent >= judging::rules().busy_percent;
        slow_looks_ = is_busy && is_slow ? slow_looks_ + 1 : 0;
        if (slow_looks_ == least_slow_looks) {
            reports.push_back("the link is slow while the device is busy: " + link_text(look.generation, look.width) +
                              ", at best " + std::to_string(best_) + ".0");
        }
        if (reading->replays && is_above(replays_, seconds, *reading->replays, judging::rules().replays_an_hour)) {
            reports.emplace_back("many packets were sent again within an hour");
        }
    } else if (!is_slow) {
        slow_looks_ = 0;
    }
    if (is_above(corrected_, seconds, look.corrected, judging::rules().corrected_an_hour)) {
        reports.emplace_back("the kernel logged many corrected errors within an hour");
    }
    if (last_ && (look.nonfatal > last_->nonfatal || look.fatal > last_->fatal)) {
        reports.emplace_back("the kernel logged errors that were not corrected");
    }
    last_ = look;
    return reports;
}

int watch(double seconds, const std::string& root) {
    const std::vector<std::string> addresses = cards(root);
    if (addresses.empty()) {
        std::cout << "UNKNOWN no NVIDIA device on the PCI bus\n" << std::flush;
        return 3;
    }
    for (const int each : {SIGINT, SIGTERM}) {
        std::signal(each, [](int) { is_over = 1; });
    }
    NvmlReader nvml(addresses);
    std::map<std::string, Watcher> watchers;
    std::map<std::string, unsigned> flaps;
    const TimePoint begin = now();
    while (is_over == 0) {
        const double since = seconds_between(begin, now());
        const auto readings = nvml.take();
        for (const std::string& address : addresses) {
            const auto reading = readings.find(address);
            const auto reports =
                watchers[address].look(since, look_at(address, root),
                                       reading != readings.end() ? std::optional(reading->second) : std::nullopt);
            for (const std::string& report : reports) print(address, report);
            flaps[address] += static_cast<unsigned>(reports.size());
        }
        if (seconds > 0 && since >= seconds) break;
        std::this_thread::sleep_for(std::chrono::seconds(1));
    }
    return summary(watchers, flaps);
}

int watch_kept(std::istream& looks) {
    std::map<std::string, Watcher> watchers;
    std::map<std::string, unsigned> flaps;
    for (std::string text; std::getline(looks, text);) {
        std::istringstream line(text);
        double seconds = 0;
        std::string address, first, busy, replays;
        if (!(line >> seconds >> address >> first)) continue;
        Look look{.is_asleep = first == "asleep"};
        if (!look.is_asleep) {
            look.generation = static_cast<unsigned>(std::strtoul(first.c_str(), nullptr, 10));
            line >> look.width >> look.most_generation >> look.corrected >> look.nonfatal >> look.fatal >> busy >>
                replays;
            look.is_visible = look.generation != 0 && look.width != 0;
        }
        std::optional<Reading> reading;
        if (!busy.empty() && busy != "-") {
            reading = Reading{static_cast<unsigned>(std::strtoul(busy.c_str(), nullptr, 10)), std::nullopt};
            if (replays != "-") reading->replays = static_cast<unsigned>(std::strtoul(replays.c_str(), nullptr, 10));
        }
        for (const std::string& report : watchers[address].look(seconds, look, reading)) {
            std::cout << text.substr(0, text.find(' ')) << " " << address << " " << report << "\n";
            ++flaps[address];
        }
    }
    return summary(watchers, flaps);
}

}  // namespace isthmus::checking
