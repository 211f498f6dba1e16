// Prints what is said of so many bytes under a root: a line of "bytes root" each.
#include <cstdio>

#include "base/limits/memory_room.hpp"

int main() {
    std::size_t bytes = 0;
    for (char root[4096]; std::scanf("%zu %4095s", &bytes, root) == 2;) {
        const isthmus::Status status = isthmus::check_memory_room(bytes, root);
        std::puts(status.ok() ? "room" : status.message().c_str());
    }
}
