// Where the library gains it stays; where it does not it leaves copies alone, and looks again ever more seldom.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "accelerator/learning.hpp"

using namespace isthmus::accelerator;

namespace {

void expect(bool right, const char* what) {
    if (right) return;
    std::printf("not so: %s\n", what);
    std::exit(1);
}

struct Program {
    std::unique_ptr<Ledger> ledger = std::make_unique<Ledger>();
    Learning learning{*ledger, 32};
    std::size_t ours = 0, samples = 0, driver = 0;

    // Copies of which each byte takes so long by either.
    void copy(std::size_t count, double our_seconds, double driver_seconds, const void* site = nullptr,
              std::size_t bytes = 1 << 20) {
        for (std::size_t i = 0; i < count; ++i) {
            const auto [row, maker] = learning.next({site, Way::to_device, bytes});
            const auto part = [](std::size_t size, double seconds) {
                return Learning::Part{size, static_cast<double>(size) * seconds};
            };
            if (maker == Learning::Maker::driver) {
                ++driver;
            } else if (maker == Learning::Maker::ours) {
                ++ours;
                learning.record(row, part(bytes, our_seconds), {});
            } else {
                ++samples;
                learning.record(row, part(bytes / 2, our_seconds), part(bytes / 2, driver_seconds));
            }
        }
    }
};

// How long the samples of so many copies take, and the longest, where the driver copies so many bytes a second.
struct Sampled {
    double seconds = 0, longest = 0;
    std::size_t samples = 0;
};
Sampled sampled(std::size_t copies, std::size_t bytes, double driver_rate) {
    constexpr double our_rate = 30e9, call_seconds = 5e-6;
    auto ledger = std::make_unique<Ledger>();
    Learning learning(*ledger, 32);
    Sampled all;
    for (std::size_t i = 0; i < copies; ++i) {
        const auto [row, maker] = learning.next({nullptr, Way::to_device, bytes});
        SampleParts parts(std::min(bytes / 2, most_sampled_bytes));
        while (maker == Learning::Maker::sample) {
            const std::size_t part = parts.next();
            if (part == 0) break;
            parts.add(part, call_seconds + static_cast<double>(part) / driver_rate);
        }
        all.samples += parts.bytes() != 0 ? 1 : 0;
        all.seconds += parts.seconds();
        all.longest = std::max(all.longest, parts.seconds());
        const std::size_t rest = bytes - parts.bytes();
        learning.record(row, {rest, static_cast<double>(rest) / our_rate}, {parts.bytes(), parts.seconds()},
                        parts.seconds_per_byte());
    }
    return all;
}

}  // namespace

int main() {
    Program gains;
    gains.copy(1000, 1, 4);
    expect(gains.driver == 0, "a copy that gains is never left");
    expect(gains.samples >= 20 && gains.samples <= 40, "one in 32 is a sample");
    expect(gains.ledger->rows == 1 && gains.ledger->row[0].copies == 1000, "all copies are counted");

    Program loses;
    loses.copy(10000, 4, 1);
    expect(loses.driver > 9900, "a copy that loses is left");
    expect(loses.samples >= 5, "and looked at again");
    // The machine is quiet again.
    loses.copy(4000, 1, 4);
    const std::size_t before = loses.ours;
    loses.copy(100, 1, 4);
    expect(loses.ours - before > 90, "what gains again is taken again");

    Program even;
    even.copy(1000, 1, 1);
    expect(even.driver == 0, "no difference is no reason to change");

    Program two;
    two.copy(500, 4, 1, &two);
    two.copy(500, 1, 4, &gains);
    two.copy(500, 1, 4, &two, 1 << 24);
    expect(two.ledger->rows == 3, "places and sizes are told apart");
    expect(two.driver > 400 && two.driver < 500, "and only one of them is left");

    Program many;
    for (std::size_t i = 0; i < 2000; ++i) many.copy(1, 1, 1, reinterpret_cast<const void*>(i));
    expect(many.ledger->rows == Ledger::most_rows, "there is an end of them");
    // 200 GB in copies of 64 MiB: at a usual rate, and where the driver crawls.
    constexpr std::size_t copies = 3000, bytes = std::size_t{64} << 20;
    const Sampled usual = sampled(copies, bytes, 4e9);
    expect(usual.samples > copies / 40, "a driver of a usual rate is looked at again and again");
    expect(usual.longest < SampleParts::most_seconds, "within the time for it");
    const Sampled crawls = sampled(copies, bytes, 20e6);
    expect(crawls.longest < 2 * SampleParts::most_seconds, "a sample is bounded where the driver crawls");
    expect(crawls.samples > 3 && crawls.samples < 20, "and ever more seldom");
    expect(crawls.seconds < 0.2, "so that all of them take no time worth mentioning");
    const Sampled stands = sampled(copies, bytes, 1e6);
    expect(stands.longest < 0.1, "also where it nearly stands still");

    SampleParts parts(most_sampled_bytes);
    while (const std::size_t part = parts.next()) parts.add(part, 1e-9 * static_cast<double>(part));
    expect(parts.bytes() == most_sampled_bytes, "all that was wanted is sampled where that is quick");
    std::puts("as described");
}
