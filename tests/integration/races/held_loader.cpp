// A library whose constructor waits for a thread, with the loader's lock held: what that thread calls first must not be
// looked up then. Prints "loaded" when the thread has ended.
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <thread>

#include "tests/integration/races/under_way.hpp"

namespace {

void call_all() {
    sigset_t none, before;
    sigemptyset(&none);
    pthread_sigmask(SIG_BLOCK, &none, &before);
    sigprocmask(SIG_BLOCK, &none, &before);
    struct sigaction action {};
    sigaction(SIGUSR1, nullptr, &action);
    for (const auto set : {signal, ssignal, sysv_signal}) set(SIGUSR2, SIG_IGN);
    stack_t stack{};
    sigaltstack(nullptr, &stack);
    raise(SIGUSR2);
    const timespec now{};
    ppoll(nullptr, 0, &now, &none);
    pselect(0, nullptr, nullptr, nullptr, &now, &none);
    const int events = epoll_create1(0);
    epoll_event event{};
    epoll_pwait(events, &event, 1, 0, &none);
    epoll_pwait2(events, &event, 1, &now, &none);
    pthread_t thread{};
    pthread_create(
        &thread, nullptr, [](void* given) { return given; }, nullptr);
    pthread_join(thread, nullptr);
    const pid_t child = _Fork();
    if (child == 0) _exit(0);
    waitpid(child, nullptr, 0);
    expect(driver->cuCtxSetCurrent(of_program) == success);
    UnderWay copy(true);
    copy.host[0] = std::byte{2};
    driver->cuStreamSynchronize(copy.stream);
}

__attribute__((constructor)) void load() {
    of_program = begin_driver("dlsym");
    if (of_program == nullptr) _exit(77);
    std::thread(call_all).join();
    std::printf("loaded %ld\n", wrong.load());
    std::fflush(stdout);
}

}  // namespace
