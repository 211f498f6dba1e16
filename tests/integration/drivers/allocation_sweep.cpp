// Makes each allocation of the library fail in turn, once or from there on, each in a process of its own.
//
// allocation_sweep DEVICE open|copies once|sticky: a line "POINT WORD: DETAIL" for every process that did not end well,
// then "points N bad M". A process ends well where every call that failed said that memory ran out, everything that
// succeeded is right, and the session goes on working once there is memory again, or was never opened.
#include <dlfcn.h>
#include <isthmus.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

namespace {

std::atomic<bool> armed{false};
std::atomic<long> until{0};  // allocations that still succeed
bool sticky = false;
bool opening = false;  // what is swept: opening a session, of which every few points are enough, or what it does then
constexpr long stride_of_opening = 41;

void* get(std::size_t bytes) {
    if (armed.load(std::memory_order_relaxed)) {
        const long left = until.fetch_sub(1, std::memory_order_relaxed);
        if (sticky ? left <= 0 : left == 0) return nullptr;
    }
    return std::malloc(bytes == 0 ? 1 : bytes);
}

void* get_or_throw(std::size_t bytes) {
    void* const memory = get(bytes);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}

}  // namespace

void* operator new(std::size_t bytes) {
    return get_or_throw(bytes);
}
void* operator new[](std::size_t bytes) {
    return get_or_throw(bytes);
}
void* operator new(std::size_t bytes, const std::nothrow_t& /*unused*/) noexcept {
    return get(bytes);
}
void* operator new[](std::size_t bytes, const std::nothrow_t& /*unused*/) noexcept {
    return get(bytes);
}
void operator delete(void* memory) noexcept {
    std::free(memory);
}
void operator delete[](void* memory) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t /*unused*/) noexcept {
    std::free(memory);
}
void operator delete[](void* memory, std::size_t /*unused*/) noexcept {
    std::free(memory);
}

namespace {

enum Ending : int { well = 0, beyond = 20, wrong_code = 30, wrong_data = 31, unusable = 32 };

constexpr std::size_t small_bytes = 1000, large_bytes = std::size_t{5} << 20, pieces = 40, piece_bytes = 4096;

char message[2048];

bool said(isthmus_code code, const isthmus_status& status) {
    if (code == ISTHMUS_OK || code == ISTHMUS_OUT_OF_MEMORY) return true;
    // Where a thread cannot be started, the limit on threads and memory look alike.
    if (code == ISTHMUS_UNSUPPORTED && std::strstr(status.message, "thread") != nullptr) return true;
    std::snprintf(message, sizeof message, "%s: %s: %s", isthmus_code_name(code), status.operation, status.message);
    return false;
}

struct Memory {
    std::vector<char> source, arrived;
    void* device = nullptr;
};

bool filled(Memory& memory, std::size_t bytes, unsigned seed) {
    for (std::size_t i = 0; i < bytes; ++i) memory.source[i] = static_cast<char>(i * 31 + seed);
    std::memset(memory.arrived.data(), 0, bytes);
    return true;
}

// There and back, each waited for by its handle: the code, and whether what is said to have arrived has.
int trip(isthmus_session* session, Memory& memory, std::size_t bytes, unsigned seed, bool batch) {
    filled(memory, bytes, seed);
    std::vector<void*> to(pieces), back(pieces);
    std::vector<const void*> from(pieces), of_device(pieces);
    std::vector<std::size_t> sizes(pieces, piece_bytes);
    for (std::size_t i = 0; batch && i < pieces; ++i) {
        const std::size_t at = 2 * i * piece_bytes;
        to[i] = static_cast<char*>(memory.device) + at;
        of_device[i] = to[i];
        from[i] = memory.source.data() + at;
        back[i] = memory.arrived.data() + at;
    }
    isthmus_status status{};
    for (const bool there : {true, false}) {
        isthmus_transfer* transfer = nullptr;
        const isthmus_direction direction = there ? ISTHMUS_H2D : ISTHMUS_D2H;
        armed = !opening;
        isthmus_code code = batch ? isthmus_copy_batch_async(session, pieces, there ? to.data() : back.data(),
                                                             there ? from.data() : of_device.data(), sizes.data(),
                                                             direction, nullptr, &transfer, &status)
                                  : isthmus_copy_async(session, there ? memory.device : memory.arrived.data(),
                                                       there ? memory.source.data() : memory.device, bytes, direction,
                                                       nullptr, &transfer, &status);
        if (code == ISTHMUS_OK) code = isthmus_finish(transfer, &status);
        armed = false;
        if (!said(code, status)) return wrong_code;
        if (code != ISTHMUS_OK) return well;
    }
    for (std::size_t i = 0; i < (batch ? pieces : 1); ++i) {
        const std::size_t at = 2 * i * piece_bytes;
        const std::size_t length = batch ? piece_bytes : bytes;
        if (std::memcmp(memory.source.data() + at, memory.arrived.data() + at, length) != 0) return wrong_data;
    }
    return well;
}

int both_ways(isthmus_session* session, Memory& memory, std::size_t bytes, unsigned seed) {
    filled(memory, bytes, seed);
    isthmus_status status{};
    armed = !opening;
    isthmus_code code =
        isthmus_copy(session, memory.device, memory.source.data(), bytes, ISTHMUS_H2D, nullptr, &status);
    if (code == ISTHMUS_OK) {
        code = isthmus_copy(session, memory.arrived.data(), memory.device, bytes, ISTHMUS_D2H, nullptr, &status);
    }
    armed = false;
    if (!said(code, status)) return wrong_code;
    if (code != ISTHMUS_OK) return well;
    return std::memcmp(memory.source.data(), memory.arrived.data(), bytes) == 0 ? well : wrong_data;
}

int scenario(const char* device) {
    isthmus_session* session = nullptr;
    isthmus_status status{};
    Memory memory;
    memory.source.resize(large_bytes);
    memory.arrived.resize(large_bytes);
    armed = opening;
    isthmus_code code = isthmus_open(device, nullptr, &session, &status);
    armed = false;
    if (!said(code, status)) return wrong_code;
    if (code != ISTHMUS_OK) return well;
    if (opening && until > 0) return beyond;
    armed = !opening;
    code = isthmus_allocate(session, ISTHMUS_DEVICE, large_bytes, &memory.device, &status);
    armed = false;
    if (!said(code, status)) return wrong_code;
    if (code == ISTHMUS_OK) {
        for (int ending : {trip(session, memory, small_bytes, 1, false), trip(session, memory, large_bytes, 2, false),
                           trip(session, memory, large_bytes, 3, true), both_ways(session, memory, small_bytes, 4),
                           both_ways(session, memory, large_bytes, 5)}) {
            if (ending != well) return ending;
        }
    }
    const bool reached = until.load() <= 0;
    // There is memory again: whatever failed, the session works or says why not.
    opening = true;
    if (memory.device == nullptr &&
        isthmus_allocate(session, ISTHMUS_DEVICE, large_bytes, &memory.device, &status) != 0) {
        return unusable;
    }
    if (both_ways(session, memory, large_bytes, 6) != well || trip(session, memory, large_bytes, 7, false) != well ||
        std::memcmp(memory.source.data(), memory.arrived.data(), large_bytes) != 0) {
        std::snprintf(message, sizeof message, "%s", status.message);
        return unusable;
    }
    code = isthmus_close(session, &status);
    if (!said(code, status)) return wrong_code;
    return reached ? well : beyond;
}

const char* word(int state) {
    if (WIFSIGNALED(state)) return strsignal(WTERMSIG(state));
    switch (WEXITSTATUS(state)) {
        case wrong_code: return "wrong code";
        case wrong_data: return "wrong data";
        case unusable: return "the session is unusable";
        default: return "unexpected end";
    }
}

}  // namespace

int main(int count, char** words) {
    if (count != 4) return 2;
    opening = std::strcmp(words[2], "open") == 0;
    sticky = std::strcmp(words[3], "sticky") == 0;
    // What the driver allocates when it is loaded is not what is looked at.
    if (std::strncmp(words[1], "cuda", 4) == 0 && dlopen("libcuda.so.1", RTLD_NOW) == nullptr) return 2;
    int bad = 0;
    for (long point = 0;; point += opening ? stride_of_opening : 1) {
        int pipe_ends[2];
        if (pipe(pipe_ends) != 0) return 2;
        const pid_t child = fork();
        if (child == 0) {
            alarm(30);
            until = point;
            const int ending = scenario(words[1]);
            if (write(pipe_ends[1], message, std::strlen(message)) < 0) _exit(2);
            _exit(ending);
        }
        close(pipe_ends[1]);
        char said_there[1024] = {};
        const ssize_t got = read(pipe_ends[0], said_there, sizeof said_there - 1);
        close(pipe_ends[0]);
        int state = 0;
        waitpid(child, &state, 0);
        if (WIFEXITED(state) && WEXITSTATUS(state) == beyond) {
            std::printf("points %ld bad %d\n", point, bad);
            return bad == 0 ? 0 : 1;
        }
        if (!WIFEXITED(state) || WEXITSTATUS(state) != well) {
            ++bad;
            std::printf("%ld %s: %s\n", point, word(state), got > 0 ? said_there : "");
            std::fflush(stdout);
        }
    }
}
