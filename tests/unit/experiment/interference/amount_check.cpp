// How much work is chosen, for work whose every unit takes as long as is said.
#include "experiment/amount.hpp"

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

using isthmus::Code;
using isthmus::Result;
using isthmus::Status;
using isthmus::experiment::amount_for;

void expect(bool condition, const char* what) {
    if (condition) return;
    std::printf("%s: not so\n", what);
    std::exit(1);
}

// Takes so many seconds a unit; the first call takes longer, as where a driver gets ready.
struct Work {
    double unit_seconds;
    double ready_seconds = 0;
    std::vector<std::uint64_t> asked = {};

    Result<double> operator()(std::uint64_t amount) {
        asked.push_back(amount);
        return unit_seconds * static_cast<double>(amount) + (asked.size() == 1 ? ready_seconds : 0);
    }
};

void it_takes_as_long_as_is_wanted() {
    for (const double unit : {1e-9, 3e-6, 0.004}) {
        Work work{unit};
        const auto amount = amount_for(0.01, work);
        expect(amount.ok(), "it is told");
        const double seconds = unit * static_cast<double>(amount.value());
        expect(seconds < 0.01 + unit / 2 && seconds > 0.01 - 1.5 * unit, "within one unit, and what rounding leaves");
        expect(work.asked.back() * unit < 0.01, "no more than was wanted is done to find out");
    }
    Work slow{0.5};
    expect(amount_for(0.01, slow).value() == 1, "some is done, however long it takes");
}

void what_came_late_once_is_asked_again() {
    Work work{1e-6, 0.02};
    expect(amount_for(0.01, work).value() + 1 >= 10000, "a driver that gets ready is no measure");
}

void what_fails_is_told() {
    const auto failing = [](std::uint64_t) -> Result<double> { return Status(Code::unsupported, "no work"); };
    expect(!amount_for(0.01, failing).ok(), "a failure is no amount");
}

}  // namespace

int main() {
    it_takes_as_long_as_is_wanted();
    what_came_late_once_is_asked_again();
    what_fails_is_told();
    std::puts("as described");
}
