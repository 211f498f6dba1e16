// What happens to programs in the midst of a copy: faults that they handle or not, jumps, deadlines, cancellation.
#pragma once

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>

#include "execute.hpp"

class Hurt {
  public:
    static constexpr std::size_t bytes = std::size_t{8} << 20;

    explicit Hurt(Dice& dice) : dice_(dice), source_(mapped()) {
        void* memory = nullptr;
        expect(driver->cuMemHostAlloc(&memory, bytes, 0) == success);
        pinned_ = static_cast<std::byte*>(memory);
        expect(driver->cuMemAlloc(&device_, bytes) == success);
        fill_bytes(source_, bytes, 5);
        // The library knows the place.
        for (int i = 0; i < 4; ++i) move(pinned_, source_);
    }

    // Memory of the program that none may touch, in the middle of a copy: ends the process, or is an error.
    void touch(Fact& fact) {
        mprotect(source_ + (bytes / 2), page_bytes * 2, dice_.one_in(2) ? PROT_NONE : PROT_READ);
        copy_once(fact, dice_.below(4));
    }

    // As collectors of garbage and checkpoints do: the handler lets the store or load be made again.
    void handle(Fact& fact) {
        guarded_ = source_;
        install(&Hurt::unprotect);
        const std::size_t way = dice_.below(4);
        fill_bytes(pinned_, bytes, 6);
        for (int i = 0; i < 3; ++i) {
            mprotect(source_, bytes, way % 2 == 0 ? PROT_NONE : PROT_READ);
            copy_once(fact, way);
            fact.add("elsewhere", faults_elsewhere_.load());
            fact.add("handled", faults_.exchange(0) != 0);
            fact.add_hash("there", hash_bytes(way % 2 == 0 ? pinned_ : source_, bytes));
            mprotect(source_, bytes, PROT_READ | PROT_WRITE);
        }
        uninstall();
    }

    // As databases do whose file was cut off.
    void jump(Fact& fact) {
        const std::size_t left = bytes / 4 * (1 + dice_.below(3));
        std::byte* volatile source = source_;
        if (dice_.one_in(2)) {
            const int file = memfd_create("cut", 0);
            expect(file >= 0 && ftruncate(file, bytes) == 0);
            void* const cut = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
            fill_bytes(cut, bytes, 7);
            source = static_cast<std::byte*>(cut);
            expect(ftruncate(file, static_cast<off_t>(left)) == 0);
        } else {
            mprotect(source_ + left, bytes - left, PROT_NONE);
        }
        install(&Hurt::jump_back);
        for (left_ = 3; left_ > 0; left_ = left_ - 1) {
            if (sigsetjmp(back_, 1) == 0)
                move(pinned_, source);
            else
                ++jumped_;
        }
        uninstall();
        fact.add("jumped", jumped_.load());
        fact.add("elsewhere", faults_elsewhere_.load());
        mprotect(source_, bytes, PROT_READ | PROT_WRITE);
        fact.add_hash("begin", hash_bytes(pinned_, left));
        right_again(fact);
    }

    // A deadline.
    void give_up(Fact& fact) {
        struct sigaction action {};
        // A kernel may give it to another thread once in thousands of times.
        static pthread_t caller;
        static std::atomic<int> elsewhere;
        caller = pthread_self();
        elsewhere = 0;
        action.sa_handler = [](int) {
            if (pthread_equal(pthread_self(), caller) == 0) {
                ++elsewhere;
                pthread_kill(caller, SIGALRM);
            } else if (is_armed_.exchange(false)) {
                siglongjmp(back_, 1);
            }
        };
        action.sa_flags = SA_NODEFER;
        sigaction(SIGALRM, &action, nullptr);
        for (left_ = 40; left_ > 0; left_ = left_ - 1) {
            if (sigsetjmp(back_, 1) != 0) continue;
            const itimerval once{{0, 0}, {0, static_cast<long>(100 + dice_.below(900))}};
            is_armed_ = true;
            setitimer(ITIMER_REAL, &once, nullptr);
            move(pinned_, source_);
            is_armed_ = false;
        }
        signal(SIGALRM, SIG_IGN);
        fact.add("elsewhere", elsewhere > 3);
        right_again(fact);
    }

    // A thread that may be cancelled anywhere, in a copy of its own; or between its copies.
    void cancel(Fact& fact) {
        const bool is_anywhere = !dice_.one_in(3);
        for (int i = 0; i < 4; ++i) {
            is_running_ = false;
            pthread_t thread{};
            self_ = this;
            pthread_create(&thread, nullptr, is_anywhere ? &Hurt::moves_for_ever : &Hurt::copies_for_ever, nullptr);
            while (!is_running_) usleep(100);
            usleep(static_cast<useconds_t>(500 + dice_.below(4000)));
            pthread_cancel(thread);
            void* result = nullptr;
            pthread_join(thread, &result);
            fact.add("cancelled", result == PTHREAD_CANCELED);
        }
        right_again(fact);
    }

    // Ends the process from a handler.
    void end_in_handler() {
        struct sigaction action {};
        action.sa_handler = [](int) { _exit(5); };
        sigaction(SIGALRM, &action, nullptr);
        const itimerval once{{0, 0}, {0, static_cast<long>(1000 + dice_.below(9000))}};
        setitimer(ITIMER_REAL, &once, nullptr);
        while (true) {
            move(pinned_, source_);
            (void)driver->cuMemcpyHtoD(device_, source_, bytes);
        }
    }

  private:
    static std::byte* mapped() {
        void* const found = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        expect(found != MAP_FAILED);
        return static_cast<std::byte*>(found);
    }
    // No compiler is to see the size.
    __attribute__((noinline)) static void move(void* to, const void* from) {
        volatile std::size_t length = bytes;
        std::memcpy(to, from, length);
    }
    // From the program's memory and to it, by itself and by the driver.
    void copy_once(Fact& fact, std::size_t way) {
        switch (way) {
            case 0: return move(pinned_, source_);
            case 1: return move(source_, pinned_);
            case 2: fact.add("to_device", driver->cuMemcpyHtoD(device_, source_, bytes)); return;
            default: fact.add("to_host", driver->cuMemcpyDtoH(source_, device_, bytes));
        }
    }
    void right_again(Fact& fact) {
        for (int i = 0; i < 3; ++i) {
            fill_bytes(source_, bytes, static_cast<std::uint64_t>(20 + i));
            move(pinned_, source_);
            fact.add_hash("again", hash_bytes(pinned_, bytes));
            fact.add("to_device", driver->cuMemcpyHtoD(device_, source_, bytes));
            std::memset(source_, 0, bytes);
            fact.add("to_host", driver->cuMemcpyDtoH(source_, device_, bytes));
            fact.add_hash("back", hash_bytes(source_, bytes));
        }
    }

    static void install(void (*handler)(int, siginfo_t*, void*)) {
        calling_ = pthread_self();
        struct sigaction action {};
        action.sa_sigaction = handler;
        action.sa_flags = SA_SIGINFO | SA_NODEFER;
        sigaction(SIGSEGV, &action, nullptr);
        sigaction(SIGBUS, &action, nullptr);
    }
    static void uninstall() {
        signal(SIGSEGV, SIG_DFL);
        signal(SIGBUS, SIG_DFL);
    }
    static void note_thread() {
        ++faults_;
        if (pthread_equal(pthread_self(), calling_) == 0) ++faults_elsewhere_;
    }
    static void unprotect(int, siginfo_t* info, void*) {
        note_thread();
        auto* const at = static_cast<std::byte*>(info->si_addr);
        if (at < guarded_ || at >= guarded_ + bytes) _exit(99);
        mprotect(guarded_, bytes, PROT_READ | PROT_WRITE);
    }
    static void jump_back(int, siginfo_t*, void*) {
        note_thread();
        siglongjmp(back_, 1);
    }
    static void* moves_for_ever(void*) {
        pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, nullptr);
        is_running_ = true;
        while (true) move(self_->pinned_, self_->source_);
    }
    static void* copies_for_ever(void*) {
        (void)driver->cuCtxSetCurrent(context_);
        is_running_ = true;
        while (true) {
            // Nobody says what becomes of a driver's locks.
            int before = 0;
            pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
            (void)driver->cuMemcpyHtoD(self_->device_, self_->source_, bytes);
            pthread_setcancelstate(before, nullptr);
            pthread_testcancel();
        }
    }

    Dice& dice_;
    std::byte* const source_;
    std::byte* pinned_ = nullptr;
    DevicePointer device_ = 0;

  public:
    inline static Context context_ = nullptr;

  private:
    inline static sigjmp_buf back_;
    // What outlasts a jump is not on the stack.
    inline static std::atomic<int> left_ = 0, jumped_ = 0;
    inline static std::atomic<bool> is_armed_ = false, is_running_ = false;
    inline static std::atomic<long> faults_ = 0, faults_elsewhere_ = 0;
    inline static std::byte* guarded_ = nullptr;
    inline static pthread_t calling_{};
    inline static Hurt* self_ = nullptr;
};
