// Prints what a fake tree grants, and checks sets of processors on a system that has more of them than one cpu_set_t.
#include "base/processors.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

// The kernel's: so many bits it wants room for, and the processor that it may run on last.
std::size_t kernel_bits = 1024;
std::size_t last_processor = 0;

void expect(bool condition, const char* what) {
    if (condition) return;
    std::printf("%s: not so\n", what);
    std::exit(1);
}

void check_sets() {
    for (const std::size_t bits : {64, 1024, 1088, 4096, 8192}) {
        kernel_bits = bits;
        last_processor = bits - 1;
        const isthmus::ProcessorSet set = isthmus::bound_processors();
        expect(CPU_COUNT_S(isthmus::bytes_of(set), set.data()) == 2, "two processors");
        expect(isthmus::contains(set, 0) && isthmus::contains(set, static_cast<int>(bits) - 1), "those two");
        expect(!isthmus::contains(set, 1) && !isthmus::contains(set, -1) && !isthmus::contains(set, 1 << 20),
               "no other");
        expect(isthmus::allowed_processors() <= 2, "two threads at most");
    }
    kernel_bits = std::size_t{1} << 40;  // it refuses every set
    expect(isthmus::bound_processors().empty(), "nothing told");
    expect(isthmus::allowed_processors() == 1, "one at least");
    const isthmus::ProcessorSet made = isthmus::set_of({3, 2000, -1});
    expect(CPU_COUNT_S(isthmus::bytes_of(made), made.data()) == 2 && isthmus::contains(made, 2000), "a set of two");
}

void check_threads() {
    using isthmus::threads_for;
    expect(threads_for(8, {}) == 8 && threads_for(0, {}) == 1, "no grant");
    expect(threads_for(8, 0.5) == 1 && threads_for(8, 1.99) == 1 && threads_for(8, 2.5) == 2, "rounded down");
    expect(threads_for(2, 16.0) == 2 && threads_for(2, 1e300) == 2, "more than there are");
}

}  // namespace

extern "C" int sched_getaffinity(pid_t, std::size_t bytes, cpu_set_t* set) noexcept {
    if (bytes * 8 < kernel_bits) {
        errno = EINVAL;
        return -1;
    }
    std::memset(set, 0, bytes);
    CPU_SET_S(0, bytes, set);
    CPU_SET_S(last_processor, bytes, set);
    return 0;
}

int main() {
    check_sets();
    check_threads();
    for (char root[4096]; std::scanf("%4095s", root) == 1;) {
        const auto granted = isthmus::granted_processors(root);
        granted ? std::printf("%.2f\n", *granted) : std::puts("all");
    }
}
