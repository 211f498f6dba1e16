// Writes a trace file from many threads, some of which take over the blocks of others that have ended.
//
// writer_check FILE THREADS RECORDS [copy-on-write | in-place]: on a file system of that kind, and cut off meanwhile.
#include <linux/magic.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "trace/writer.hpp"

using namespace isthmus::trace;

namespace {

std::string pretended;

}  // namespace

// Before that of the C library.
extern "C" int fstatfs(int descriptor, struct statfs* found) noexcept {
    const auto code = static_cast<int>(syscall(SYS_fstatfs, descriptor, found));
    constexpr auto zfs = 0x2FC12FC1;
    if (pretended == "copy-on-write") found->f_type = zfs;
    if (pretended == "in-place") found->f_type = EXT4_SUPER_MAGIC;
    return code;
}

int main(int count, char** words) {
    if (count < 4) return 2;
    const std::uint64_t threads = std::stoull(words[2]);
    const std::uint64_t records = std::stoull(words[3]);
    if (count > 4) pretended = words[4];
    auto made = TraceFile::create(words[1], "program", 3, recorded_call_sites, 1000);
    if (!made.ok()) return std::fprintf(stderr, "%s\n", made.take_status().message().c_str()), 3;
    TraceFile& file = *made.value();
    for (int wave = 0; wave < 2; ++wave) {
        std::vector<std::thread> running;
        for (std::uint64_t thread = 0; thread < threads; ++thread) {
            running.emplace_back([&, thread] {
                Writer* writer = file.writer();
                for (std::uint64_t index = 0; index < records; ++index) {
                    if (index == records / 2 && !pretended.empty() && truncate(words[1], 0) != 0) std::abort();
                    const std::uint32_t name = file.text("call " + std::to_string(index % 50));
                    writer->write(CallRecord{.start_ns = 1 + index,
                                             .end_ns = 2 + index,
                                             .correlation = static_cast<std::uint32_t>(index),
                                             .thread = static_cast<std::uint32_t>(thread),
                                             .name = name,
                                             .site = file.text(std::string(index % 40 * 100, 'x'))});
                }
                file.recycle(writer);
            });
        }
        for (std::thread& each : running) each.join();
    }
    file.note("a sentence");
    file.add_dropped(2);
    file.finish(words[3][0] == '0' ? 0 : 5000);
    Writer* late = file.writer();
    for (int index = 0; index < 10'000; ++index) late->write(DeviceRecord{.index = 0, .name = 0});
    return 0;
}
