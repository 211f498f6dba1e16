// Programs in a process of their own: what would end others with them, or what they have in common.
#pragma once

#include <sys/wait.h>

#include "generate.hpp"
#include "hurt.hpp"
#include "start.hpp"

class Own {
  public:
    Own(std::uint64_t seed, const LeftOut& left_out) : seed_(seed), left_out_(left_out), dice_(seed ^ 0xA5A5) {}

    int run() {
        // Before the driver is begun, as launchers fork.
        if (dice_.one_in(6)) fork_before();
        if (!start(world_)) return 77;
        begin_threads();
        Hurt::context_ = world_.context;
        if (dice_.one_in(2)) some();
        switch (dice_.below(12)) {
            case 0: reset(); break;
            case 1: another_context(); break;
            case 2: fork_after(); break;
            case 3: threads(); break;
            case 4: hurt("touch", &Hurt::touch); break;
            case 5: hurt("handle", &Hurt::handle); break;
            case 6:
                if (!left_out_.jumps) hurt("jump", &Hurt::jump);
                break;
            case 7:
                if (!left_out_.jumps) hurt("give_up", &Hurt::give_up);
                break;
            case 8:
            case 9:
                if (!left_out_.cancellation) hurt("cancel", &Hurt::cancel);
                break;
            case 10: trap(); break;
            default: break;
        }
        some();
        return end();
    }

  private:
    // The lines of each part have a letter of their own.
    void some() {
        Program program = Generator(seed_ * 31 + static_cast<std::uint64_t>(part_), left_out_).make();
        program.fails.clear();
        program.seed = seed_;
        program.part = std::string(1, part_++);
        (void)Execution(world_, *watchdog_, *mate_, program).run(program.steps.size());
    }
    void begin_threads() {
        watchdog_ = new Watchdog(world_.gates);
        mate_ = new Mate;
        on_both(*mate_, [this] { return driver->cuCtxSetCurrent(world_.context); });
    }
    void end_threads() {
        delete watchdog_;
        delete mate_;
    }
    Fact fact(const char* step) { return {seed_, std::string(1, part_++) + step}; }
    void hurt(const char* name, void (Hurt::*method)(Fact&)) {
        Fact line = fact(name);
        write_line(line.text() + " begun=1");
        Hurt one(dice_);
        (one.*method)(line);
        write_line(line.text());
    }

    // A part that is done by a child, of which the parent notes the end.
    void child(const char* name, const std::function<int()>& work) {
        Fact line = fact(name);
        const pid_t child = fork();
        if (child == 0) _exit(work());
        int status = 0;
        waitpid(child, &status, 0);
        line.add("exit", WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
        write_line(line.text());
    }
    void fork_before() {
        const char first = part_;
        part_ = 'm';
        child("child", [this] {
            if (!start(world_)) return 77;
            begin_threads();
            some();
            return 3;
        });
        part_ = first;
    }
    // What a child may do that has inherited a driver: nothing with that, and all with its memory, page-locked or not.
    void fork_after() {
        std::byte* const locked = world_.slots->host(HostKind::pinned, 0, true).data(slot_bytes);
        fill_bytes(locked, slot_bytes, 9);
        const std::uint64_t is_in_locked = hash_bytes(locked, slot_bytes);
        const bool reads_locked = dice_.one_in(2), writes_locked = dice_.one_in(3);
        std::vector<std::byte> here(Hurt::bytes), there(Hurt::bytes);
        fill_bytes(here.data(), here.size(), 8);
        const bool asks = !more->is_fake && dice_.one_in(2);
        const bool executes = dice_.one_in(3);
        child("child", [&] {
            if (reads_locked && hash_bytes(locked, slot_bytes) != is_in_locked) return 7;
            if (writes_locked) std::memset(locked, 0x77, slot_bytes);
            std::memcpy(there.data(), here.data(), here.size());
            if (std::memcmp(there.data(), here.data(), here.size()) != 0) return 4;
            if (asks && driver->cuMemcpyHtoD(0, here.data(), 16) == success) return 5;
            if (executes) execl("/proc/self/exe", "differential", "run", "0", "0", nullptr);
            return 6;
        });
        Fact line = fact("locked");
        line.add_hash("after", hash_bytes(locked, slot_bytes));
        write_line(line.text());
    }

    void reset() {
        const std::size_t count = 1 + dice_.below(3);
        for (std::size_t i = 0; i < count; ++i) {
            end_threads();
            Fact line = fact("reset");
            if (runtime->cudaDeviceReset != nullptr && dice_.one_in(2))
                line.add("code", runtime->cudaDeviceReset());
            else
                line.add("code", call(driver->cuDevicePrimaryCtxReset, 0));
            write_line(line.text());
            world_.slots->forget();
            world_.gates.forget();
            expect(start(world_));
            begin_threads();
            some();
        }
    }
    void another_context() {
        Fact line = fact("context");
        Context const before = world_.context;
        Context made = nullptr;
        const Code code = call(more->cuCtxCreate, &made, 0U, 0);
        line.add("code", code);
        write_line(line.text());
        if (code != success) return;
        end_threads();
        Slots* const slots = world_.slots;
        std::byte* const fetched = world_.fetched;
        world_.gates.forget();
        world_.context = made;
        world_.make();
        begin_threads();
        some();
        end_threads();
        Fact after = fact("destroyed");
        after.add("code", call(more->cuCtxDestroy, made));
        write_line(after.text());
        world_.context = before;
        world_.slots = slots;
        world_.fetched = fetched;
        expect(driver->cuCtxSetCurrent(before) == success);
        world_.gates.forget();
        world_.gates.make();
        begin_threads();
    }
    // Threads that come, copy and go.
    void threads() {
        Fact line = fact("threads");
        std::atomic<long> right = 0;
        for (int round = 0; round < 3; ++round) {
            std::vector<std::thread> all;
            for (std::uint64_t i = 0; i < 6; ++i) {
                all.emplace_back([&, i] {
                    expect(driver->cuCtxSetCurrent(world_.context) == success);
                    const std::size_t bytes = std::size_t{1} << 20;
                    std::vector<std::byte> from(bytes), back(bytes);
                    fill_bytes(from.data(), bytes, i);
                    const Block block(bytes);
                    expect(driver->cuMemcpyHtoD(block.address, from.data(), bytes) == success);
                    expect(driver->cuMemcpyDtoH(back.data(), block.address, bytes) == success);
                    right += from == back;
                });
            }
            for (std::thread& thread : all) thread.join();
        }
        line.add("right", right.load());
        write_line(line.text());
    }
    // An error that stays until the context is reset.
    void trap() {
        if (more->is_fake) return;
        Fact line = fact("trap");
        const char* const text =
            ".version 6.0\n.target sm_60\n.address_size 64\n.visible .entry trap_kernel() { trap; ret; }\n";
        Module module = nullptr;
        Kernel kernel = nullptr;
        line.add("load", call(more->cuModuleLoadData, &module, static_cast<const void*>(text)));
        line.add("function", call(more->cuModuleGetFunction, &kernel, module, "trap_kernel"));
        if (kernel == nullptr) return write_line(line.text());
        void** const none = nullptr;
        line.add("launch", call(more->cuLaunchKernel, kernel, 1U, 1U, 1U, 1U, 1U, 1U, 0U, Stream{}, none, none));
        line.add("sync", call(more->cuCtxSynchronize));
        std::vector<std::byte> host(Hurt::bytes);
        const DevicePointer device = world_.slots->device(DeviceKind::plain, 0, false).address();
        for (int i = 0; i < 2; ++i) {
            line.add("to_device", driver->cuMemcpyHtoD(device, host.data(), slot_bytes));
            line.add("to_host", driver->cuMemcpyDtoHAsync(host.data(), device, slot_bytes, nullptr));
            line.add("small", driver->cuMemcpyDtoH(host.data(), device, 16));
        }
        write_line(line.text());
        reset();
    }

    // In one of the ways in which programs end, behind copies that may not have ended.
    int end() {
        const std::size_t way = dice_.below(10);
        const int code = static_cast<int>(dice_.below(100));
        if (way == 0) {
            Hurt(dice_).end_in_handler();
        }
        Stream stream = nullptr;
        expect(driver->cuStreamCreate(&stream, stream_non_blocking) == success);
        static std::vector<std::byte> host(slot_bytes);
        const DevicePointer device = world_.slots->device(DeviceKind::plain, 0, false).address();
        for (int i = 0; i < 3; ++i) (void)driver->cuMemcpyHtoDAsync(device, host.data(), slot_bytes, stream);
        switch (way) {
            case 1: _exit(code);
            case 2: std::abort();
            case 3: raise(SIGTERM); break;
            case 4: raise(SIGKILL); break;
            case 5: raise(SIGSEGV); break;
            case 6: std::quick_exit(code);
            case 7:
                // While others copy.
                std::thread([this, device] {
                    (void)driver->cuCtxSetCurrent(world_.context);
                    while (true) (void)driver->cuMemcpyHtoDAsync(device, host.data(), slot_bytes, nullptr);
                }).detach();
                usleep(3000);
                _exit(code);
            default: break;
        }
        end_threads();
        return code;
    }

    const std::uint64_t seed_;
    const LeftOut left_out_;
    Dice dice_;
    World world_;
    Watchdog* watchdog_ = nullptr;
    Mate* mate_ = nullptr;
    char part_ = 'a';
};

inline int run_alone(std::uint64_t seed, const LeftOut& left_out) {
    return Own(seed, left_out).run();
}
