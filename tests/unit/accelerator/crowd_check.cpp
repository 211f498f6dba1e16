// crowd_check FILE: how many threads want to run, as a file like /proc/loadavg tells; -1 where it does not.
#include <cstdio>

#include "accelerator/crowd.hpp"

int main(int count, char** words) {
    const auto found = isthmus::accelerator::runnable_threads(count > 1 ? words[1] : "/proc/loadavg");
    std::printf("%ld\n", found.value_or(-1));
    // Whatever the machine does, the answer is one.
    const bool first = isthmus::accelerator::is_crowded();
    return first == isthmus::accelerator::is_crowded() ? 0 : 1;
}
