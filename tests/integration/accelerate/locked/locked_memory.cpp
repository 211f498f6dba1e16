// Gets page-locked memory, asks the driver all that can be asked of it, and does with it what programs do. What it
// prints is to be the same with and without the library that accelerates.
//
// locked_memory questions|forks|uses|threads|again MIB. On standard error is how much of the latest block was there
// before a fake driver locked it. With the word small-pages the process has no huge ones. Ends with 77 without a
// device.
#include <sys/prctl.h>

#include <cstdio>
#include <cstdlib>

#include "asked.hpp"
#include "used.hpp"

int main(int count, char** words) {
    if (count < 3) return 2;
    const std::string mode = words[1];
    std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
    if (std::strcmp(words[count - 1], "small-pages") == 0) prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
    Context const context = begin_driver("dlsym");
    if (context == nullptr) return 77;
    const Memory memory;
    const std::size_t bytes = std::strtoull(words[2], nullptr, 10) << 20;
    if (mode == "questions") Asked(memory, context, bytes).all();
    if (mode == "forks") forks(memory, bytes);
    if (mode == "uses") uses(memory, context, bytes);
    if (mode == "threads") threads(memory, context, bytes);
    if (mode == "again") again(memory, bytes);
    if (const auto found = memory.found_bytes) std::fprintf(stderr, "found: %zu\n", found());
    std::printf("wrong: %ld\n", wrong.load());
    std::fflush(stdout);
    return wrong == 0 ? 0 : 1;
}
