// Makes copies that the library makes, then becomes itself anew, so many times; its number stays.
//
// executes_itself REACH TIMES
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "random_copies.hpp"

int main(int count, char** words) {
    if (count < 3) return 2;
    reach = words[1];
    const Driver functions;
    driver = &functions;
    Context context = nullptr;
    if (driver->cuInit(0) != success || driver->cuDevicePrimaryCtxRetain(&context, 0) != success) return 77;
    copy_on_threads(1, 100, {std::size_t{1} << 20, std::size_t{64} << 10, 500}, 1, context);
    if (wrong != 0) return 1;
    const int left = std::atoi(words[2]) - 1;
    if (left <= 0) return 0;
    const std::string next = std::to_string(left);
    execl("/proc/self/exe", words[0], words[1], next.c_str(), static_cast<char*>(nullptr));
    return 3;
}
