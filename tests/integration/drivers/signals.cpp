// A program that takes its signals in its main thread, by sigwait or by a handler that is wrong on any other.
//
// signals DEVICE sigwait|handler: copies there and back in every way, with signals meanwhile and between. Ends with 0
// where each signal reached the main thread and all data is right; a signal that a thread of the library takes ends it.
#include <isthmus.h>
#include <pthread.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

constexpr std::size_t bytes = std::size_t{5} << 20, pieces = 40, piece_bytes = 4096;
constexpr int wrong_thread = 9;

pthread_t main_thread;
std::atomic<int> handled{0};

void on_signal(int /*unused*/) {
    if (pthread_equal(pthread_self(), main_thread) == 0) _exit(wrong_thread);
    ++handled;
}

void must(isthmus_code code, const isthmus_status& status) {
    if (code == ISTHMUS_OK) return;
    std::fprintf(stderr, "%s: %s\n", status.operation, status.message);
    std::exit(1);
}

void expect(bool condition, const char* what) {
    if (condition) return;
    std::fprintf(stderr, "not so: %s\n", what);
    std::exit(1);
}

// What blocks the signal everywhere but in threads that did not inherit it, and lets it stand for a moment.
void sent_to_the_process(int signal) {
    kill(getpid(), signal);
    usleep(20000);
}

// The signal stands while every thread of the library is there, and the main thread alone may take it.
void take(int signal, bool by_handler) {
    sigset_t set, before;
    sigemptyset(&set);
    sigaddset(&set, signal);
    pthread_sigmask(SIG_BLOCK, &set, &before);
    const int so_far = handled;
    sent_to_the_process(signal);
    if (by_handler) {
        expect(handled == so_far, "nobody handles a signal that the main thread blocks");
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
        expect(handled > so_far, "the main thread handles it then");
    } else {
        int taken = 0;
        expect(sigwait(&set, &taken) == 0 && taken == signal, "sigwait gets it");
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
    }
}

enum class Way { waiting, asynchronous, batch, asynchronous_batch };

void copy(isthmus_session* session, void* to, const void* from, isthmus_direction direction, Way way) {
    isthmus_status status{};
    isthmus_transfer* transfer = nullptr;
    std::vector<void*> tos(pieces);
    std::vector<const void*> froms(pieces);
    const std::vector<std::size_t> sizes(pieces, piece_bytes);
    for (std::size_t i = 0; i < pieces; ++i) {
        tos[i] = static_cast<char*>(to) + 2 * i * piece_bytes;
        froms[i] = static_cast<const char*>(from) + 2 * i * piece_bytes;
    }
    switch (way) {
        case Way::waiting: return must(isthmus_copy(session, to, from, bytes, direction, nullptr, &status), status);
        case Way::batch:
            return must(isthmus_copy_batch(session, pieces, tos.data(), froms.data(), sizes.data(), direction, nullptr,
                                           &status),
                        status);
        case Way::asynchronous:
            must(isthmus_copy_async(session, to, from, bytes, direction, nullptr, &transfer, &status), status);
            break;
        case Way::asynchronous_batch:
            must(isthmus_copy_batch_async(session, pieces, tos.data(), froms.data(), sizes.data(), direction, nullptr,
                                          &transfer, &status),
                 status);
    }
    must(isthmus_finish(transfer, &status), status);
}

void timer(long microseconds) {
    itimerval often{};
    often.it_interval.tv_usec = often.it_value.tv_usec = microseconds;
    setitimer(ITIMER_REAL, &often, nullptr);
}

}  // namespace

int main(int count, char** words) {
    if (count != 3) return 2;
    const bool by_handler = std::strcmp(words[2], "handler") == 0;
    main_thread = pthread_self();
    struct sigaction action {};
    action.sa_handler = on_signal;  // without SA_RESTART: calls of the system are interrupted, too
    sigaction(SIGALRM, &action, nullptr);
    if (by_handler) sigaction(SIGUSR1, &action, nullptr);

    isthmus_session* session = nullptr;
    isthmus_status status{};
    void* device = nullptr;
    must(isthmus_open(words[1], nullptr, &session, &status), status);
    must(isthmus_allocate(session, ISTHMUS_DEVICE, bytes, &device, &status), status);
    std::vector<char> source(bytes), arrived(bytes);
    for (std::size_t i = 0; i < bytes; ++i) source[i] = static_cast<char>((i * 2654435761U) >> 13);
    take(SIGUSR1, by_handler);
    for (const Way way : {Way::waiting, Way::asynchronous, Way::batch, Way::asynchronous_batch}) {
        std::memset(arrived.data(), 0, bytes);
        timer(300);
        copy(session, device, source.data(), ISTHMUS_H2D, way);
        copy(session, arrived.data(), device, ISTHMUS_D2H, way);
        timer(0);
        const bool whole = way == Way::waiting || way == Way::asynchronous;
        for (std::size_t i = 0; i < (whole ? 1 : pieces); ++i) {
            const std::size_t at = 2 * i * piece_bytes;
            expect(std::memcmp(source.data() + at, arrived.data() + at, whole ? bytes : piece_bytes) == 0,
                   "all arrived");
        }
        take(SIGUSR1, by_handler);
    }
    must(isthmus_close(session, &status), status);
    take(SIGUSR1, by_handler);
    return 0;
}
