// Random copies of all forms, most of them small, each of which is checked with what lies around it.
//
// random_copies REACH COUNT [SEED] [THREADS] [pinned]: REACH is how it gets at the driver (driver.hpp); pinned memory
// is copied in large pieces. Prints how many copies were made and how many were wrong; ends with 1 where any was, and
// 77 without a device.
#include <cstdio>
#include <cstdlib>

#include "random_copies.hpp"

int main(int count, char** words) {
    if (count < 3) return 2;
    reach = words[1];
    const long copies = std::atol(words[2]);
    const std::uint64_t seed = count > 3 ? std::strtoull(words[3], nullptr, 10) : 1;
    const unsigned threads = count > 4 ? static_cast<unsigned>(std::max(std::atoi(words[4]), 1)) : 4;
    const Driver functions;
    driver = &functions;
    Context context = nullptr;
    if (driver->cuInit(0) != success || driver->cuDevicePrimaryCtxRetain(&context, 0) != success) return 77;
    // Two in a hundred are of sizes that the library looks at by itself; or half, where several links are.
    Sizes sizes{std::size_t{8} << 20, std::size_t{64} << 10, 20};
    if (count > 5) sizes = {std::size_t{48} << 20, std::size_t{64} << 10, 500, true};
    copy_on_threads(threads, copies, sizes, seed, context);
    std::printf("copies: %ld\nwrong: %ld\n", copies / threads * threads, wrong.load());
    return wrong == 0 ? 0 : 1;
}
