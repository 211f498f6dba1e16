// A program that resets its device, or makes contexts and destroys them, again and again, and copies in between: how
// many threads it has afterwards, and how much memory is mapped, beyond what it had after the first few times.
//
// lost_contexts REACH reset|destroy TIMES.
#include <dirent.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "driver.hpp"

namespace {

constexpr std::size_t bytes = std::size_t{8} << 20;
std::vector<std::byte> host(bytes), back(bytes);

long threads() {
    long count = 0;
    DIR* const folder = opendir("/proc/self/task");
    while (const dirent* entry = readdir(folder)) count += entry->d_name[0] != '.' ? 1 : 0;
    closedir(folder);
    return count;
}
// Of memory that is mapped without a file, the MiB.
long mapped_mib() {
    std::ifstream maps("/proc/self/maps");
    long count = 0;
    for (std::string line; std::getline(maps, line);) {
        unsigned long begin = 0;
        unsigned long end = 0;
        unsigned long inode = 0;
        char access[8] = {};
        std::sscanf(line.c_str(), "%lx-%lx %7s %*s %*s %lu", &begin, &end, access, &inode);
        const bool is_memory = inode == 0 && std::strcmp(access, "rw-p") == 0 && line.find('[') == std::string::npos;
        if (is_memory) count += static_cast<long>(end - begin) >> 20;
    }
    return count;
}

void copy() {
    const Block block(bytes);
    for (std::size_t i = 0; i < bytes; i += 4096) host[i] = static_cast<std::byte>(i >> 12);
    expect(driver->cuMemcpyHtoD(block.address, host.data(), bytes) == success);
    expect(driver->cuMemcpyDtoH(back.data(), block.address, bytes) == success);
    expect(host == back);
}

void go_through(const std::string& what) {
    Context context = nullptr;
    if (what == "destroy") {
        // Memory of the program goes with its context, too.
        static auto* const create = get<Code(Context*, unsigned, Device)>("cuCtxCreate", "cuCtxCreate_v2");
        static auto* const destroy = get<Code(Context)>("cuCtxDestroy", "cuCtxDestroy_v2");
        expect(create(&context, 0, 0) == success);
        void* pinned = nullptr;
        expect(driver->cuMemHostAlloc(&pinned, 65536, 0) == success);
        copy();
        expect(destroy(context) == success);
    } else {
        expect(driver->cuDevicePrimaryCtxRetain(&context, 0) == success);
        expect(driver->cuCtxSetCurrent(context) == success);
        void* pinned = nullptr;
        expect(driver->cuMemHostAlloc(&pinned, 65536, 0) == success);
        copy();
        expect(driver->cuDevicePrimaryCtxReset(0) == success);
    }
}

}  // namespace

int main(int count, char** words) {
    if (count < 4) return 2;
    reach = words[1];
    const Driver functions;
    driver = &functions;
    if (driver->cuInit(0) != success) return 77;
    const long before = threads();
    constexpr int warm = 3;
    for (int i = 0; i < warm; ++i) go_through(words[2]);
    const long mapped = mapped_mib();
    const int times = std::atoi(words[3]);
    for (int i = 0; i < times; ++i) go_through(words[2]);
    std::printf("threads: %ld\nMiB: %ld\nwrong: %ld\n", threads() - before, mapped_mib() - mapped, wrong.load());
    return wrong == 0 ? 0 : 1;
}
