// A program that copies under a filter of system calls (seccomp), of its own or of whoever has started it.
//
// filtered_calls inherited|own harmless|kills: the filter lets all pass, or ends the process for the call by which the
// C library starts threads.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "../driver.hpp"

namespace {

void install(bool kills) {
    constexpr unsigned clone3 = 435;
    std::array<sock_filter, 4> filter{{
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, clone3, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, kills ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    }};
    const sock_fprog program{filter.size(), filter.data()};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        std::exit(77);
    }
}

}  // namespace

int main(int count, char** words) {
    if (count < 3) return 2;
    const std::string whose = words[1];
    const bool kills = std::string(words[2]) == "kills";
    if (whose == "inherited") {
        install(kills);
        execl("/proc/self/exe", words[0], "begun", words[2], nullptr);
        return 77;
    }
    if (begin_driver("dlsym") == nullptr) return 77;
    if (whose == "own") install(kills);
    constexpr std::size_t bytes = 8 << 20;
    const Block block(bytes);
    HostBlock pinned(bytes, true);
    HostBlock pageable(bytes, false);
    std::vector<std::byte> back(bytes);
    for (int i = 1; i < 4; ++i) {
        std::memset(pageable.data(), i, bytes);
        std::memcpy(pinned.data(), pageable.data(), bytes);
        expect(driver->cuMemcpyHtoD(block.address, pageable.data(), bytes) == success);
        expect(driver->cuMemcpyDtoH(back.data(), block.address, bytes) == success);
        expect(std::memcmp(back.data(), pageable.data(), bytes) == 0);
        expect(std::memcmp(pinned.data(), pageable.data(), bytes) == 0);
    }
    std::printf("wrong: %ld\n", wrong.load());
    return wrong == 0 ? 0 : 1;
}
