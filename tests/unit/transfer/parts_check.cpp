// Whether links to which a copy is divided beforehand end at the same time.
#include "transfer/links/parts.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>

namespace {

using isthmus::parts_that_end_together;

constexpr std::size_t mib = std::size_t{1} << 20;
constexpr double later = 40e-6;

void expect(bool condition, const char* what) {
    if (condition) return;
    std::printf("%s: not so\n", what);
    std::exit(1);
}

// How long all of it takes, in units of what it would if no byte were too many on any link.
double times_ideal(std::size_t bytes, double own, const std::vector<double>& rates, std::size_t least) {
    const auto parts = parts_that_end_together(bytes, own, rates, later, least);
    const std::size_t others = std::accumulate(parts.begin(), parts.end(), std::size_t{0});
    expect(parts.size() == rates.size() && others < bytes, "there is a part for each, and one for the own link");
    double most = static_cast<double>(bytes - others) / own;
    for (std::size_t i = 0; i < rates.size(); ++i) {
        expect(parts[i] == 0 || parts[i] >= least, "no part is too small for its calls");
        if (parts[i] != 0) most = std::max(most, static_cast<double>(parts[i]) / rates[i] + later);
    }
    return most / ((static_cast<double>(bytes) + later * std::accumulate(rates.begin(), rates.end(), 0.0)) /
                   (own + std::accumulate(rates.begin(), rates.end(), 0.0)));
}

}  // namespace

int main() {
    for (const std::size_t bytes : {64 * mib, 256 * mib, 1024 * mib, 256 * mib + 12345}) {
        for (const std::vector<double>& rates : {std::vector<double>{55e9}, {46e9, 46e9, 46e9}, {55e9, 27e9, 13e9}}) {
            const double times = times_ideal(bytes, 46e9, rates, std::min(bytes / 16 / mib * mib, 8 * mib));
            expect(times < 1.001, "all links end together");
        }
    }
    const auto shared = parts_that_end_together(256 * mib, 50e9, {0, 50e9}, later, 8 * mib);
    expect(shared[0] == 0 && shared[1] > 120 * mib, "a link that is left to others carries none");
    const auto little = parts_that_end_together(8 * mib, 50e9, {5e9, 50e9}, later, mib);
    expect(little[0] == 0 && little[1] > 2 * mib, "a part that is not worth its calls is the own link's");
    const auto none = parts_that_end_together(4096, 1e9, {50e9}, later, 1);
    expect(none[0] == 0, "what ends sooner than a second hop takes goes by the own link alone");
    std::puts("as described");
}
