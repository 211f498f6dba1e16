// Each device in a process of its own: what it has to say comes line by line through a pipe.
#include "check/children.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <sstream>
#include <utility>

#include "base/clock.hpp"
#include "check/measure.hpp"

namespace isthmus::checking {
namespace {

// The child's end: what it says, and when it may go on.
class Voice {
  public:
    explicit Voice(int descriptor) : descriptor_(descriptor) {}
    template <typename Value>
    void say(const std::string& name, const Value& value) const {
        std::ostringstream text;
        text.precision(17);
        text << name << ' ' << value;
        std::string line = text.str();
        for (char& each : line) each = each == '\n' ? ' ' : each;
        line += '\n';
        if (send(descriptor_, line.data(), line.size(), MSG_NOSIGNAL) < 0) _exit(1);
    }
    void wait() const {
        char byte = 0;
        if (read(descriptor_, &byte, 1) != 1) _exit(1);
    }

  private:
    int descriptor_;
};

void say_facts(const Voice& voice, const Facts& facts) {
    const DeviceInfo& info = facts.info;
    voice.say("name", info.name);
    voice.say("uuid", info.uuid);
    voice.say("pci_address", info.pci_address);
    voice.say("driver_version", info.driver_version);
    voice.say("shares", info.shares_host_memory);
    for (const auto& [name, value] : info.conditions) voice.say("condition." + name, value);
    const auto optional = [&voice](const char* name, const auto& value) {
        if (value) voice.say(name, *value);
    };
    optional("replays_before", info.link.replays);
    optional("generation", facts.loaded.generation);
    optional("width", facts.loaded.width);
    optional("max_generation", facts.loaded.max_generation);
    optional("max_width", facts.loaded.max_width);
    optional("replays", facts.loaded.replays);
    optional("bound_node", facts.bound_node);
    optional("near_node", facts.near_node);
    voice.say("throttling", facts.throttling);
    voice.say("is_wrong", facts.is_wrong);
    voice.say("bytes", facts.bytes);
    for (unsigned each = 0; each < rate_count; ++each) {
        voice.say("rate." + std::to_string(each), facts.rates[each].rate);
        voice.say("noise." + std::to_string(each), facts.rates[each].noise);
    }
}

void read_fact(const std::string& line, Facts& facts) {
    const std::size_t blank = line.find(' ');
    if (blank == std::string::npos) return;
    const std::string name = line.substr(0, blank), value = line.substr(blank + 1);
    const auto number = static_cast<unsigned>(std::strtoul(value.c_str(), nullptr, 10));
    const double real = std::strtod(value.c_str(), nullptr);
    const auto is = [&name](const char* what) { return name == what; };
    if (is("name")) facts.info.name = value;
    if (is("uuid")) facts.info.uuid = value;
    if (is("pci_address")) facts.info.pci_address = value;
    if (is("driver_version")) facts.info.driver_version = value;
    if (is("shares")) facts.info.shares_host_memory = number != 0;
    if (name.starts_with("condition.")) facts.info.conditions[name.substr(10)] = value;
    if (is("replays_before")) facts.info.link.replays = number;
    if (is("generation")) facts.loaded.generation = number;
    if (is("width")) facts.loaded.width = number;
    if (is("max_generation")) facts.loaded.max_generation = number;
    if (is("max_width")) facts.loaded.max_width = number;
    if (is("replays")) facts.loaded.replays = number;
    if (is("bound_node")) facts.bound_node = static_cast<int>(number);
    if (is("near_node")) facts.near_node = static_cast<int>(number);
    if (is("throttling")) facts.throttling = value;
    if (is("is_wrong")) facts.is_wrong = number != 0;
    if (is("bytes")) facts.bytes = number;
    if (is("failure")) facts.failure = value;
    if (name.starts_with("rate.")) facts.rates[std::strtoul(name.c_str() + 5, nullptr, 10) % rate_count].rate = real;
    if (name.starts_with("noise.")) facts.rates[std::strtoul(name.c_str() + 6, nullptr, 10) % rate_count].noise = real;
}

// What a child does, and the parent's end of what it says.
class Child {
  public:
    explicit Child(const std::function<void(const Voice&)>& work) {
        std::array<int, 2> ends{-1, -1};
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) return;
        const pid_t parent = getpid();
        process_ = fork();
        if (process_ == 0) {
            begin_child(parent, ends[1]);
            close(ends[0]);
            const Voice voice(ends[1]);
            work(voice);
            voice.say("end", 1);
            // Without destructors and handlers: the system takes back more quickly what the driver has.
            _exit(0);
        }
        close(ends[1]);
        descriptor_ = ends[0];
    }
    ~Child() { stop(); }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

    void go_on() const { (void)send(descriptor_, "g", 1, MSG_NOSIGNAL); }
    // Reads its lines until one begins with `until`. Gives why it did not come to that.
    std::string read_until(const std::string& until, TimePoint deadline, double limit,
                           const std::function<void(const std::string&)>& take) {
        for (;;) {
            for (std::size_t end = text_.find('\n'); end != std::string::npos; end = text_.find('\n')) {
                const std::string line = text_.substr(0, end);
                text_.erase(0, end + 1);
                if (line.starts_with("end ")) has_ended_ = true;
                take(line);
                if (line.starts_with(until) || has_ended_) return {};
            }
            const double left = seconds_between(now(), deadline);
            pollfd ready{descriptor_, POLLIN, 0};
            // What has come already counts, however late it is read.
            if (poll(&ready, 1, static_cast<int>(std::clamp(1000 * left, 0.0, 1e9))) == 0) {
                stop();
                std::array<char, 96> why{};
                std::snprintf(why.data(), why.size(), "the driver did not answer within %g s", limit);
                return why.data();
            }
            std::array<char, 4096> some{};
            const ssize_t received = read(descriptor_, some.data(), some.size());
            if (received <= 0) return ending(deadline);
            text_.append(some.data(), static_cast<std::size_t>(received));
        }
    }
    bool has_ended() const { return has_ended_; }

  private:
    // A process in the kernel does not die before it comes back from there: it is not waited for.
    void stop() {
        if (descriptor_ >= 0) close(std::exchange(descriptor_, -1));
        if (process_ <= 0) return;
        if (!has_ended_) kill(process_, SIGKILL);
        (void)waitpid(std::exchange(process_, -1), nullptr, WNOHANG);
    }
    // The kernel may take its time over what such a process had of the driver, or not come back from there.
    std::string ending(TimePoint deadline) {
        int status = 0;
        has_ended_ = true;
        pid_t ended = 0;
        while (process_ > 0 && (ended = waitpid(process_, &status, WNOHANG)) == 0 && now() < deadline) usleep(1000);
        process_ = -1;
        if (ended > 0 && WIFSIGNALED(status)) {
            return "the driver ended the process with signal " + std::to_string(WTERMSIG(status));
        }
        return "the process that asked the driver ended early";
    }

    pid_t process_ = -1;
    int descriptor_ = -1;
    std::string text_;
    bool has_ended_ = false;
};

void work_on(int index, const Voice& voice) {
    Facts facts;
    auto prepared = Prepared::open(index, facts);
    Status status = prepared.ok() ? Status() : prepared.take_status();
    if (status.ok()) {
        voice.say("prepared", 1);
        voice.wait();
        status = prepared.value()->measure(facts);
    }
    say_facts(voice, facts);
    if (!status.ok()) voice.say("failure", status.message());
}

TimePoint after(double seconds) {
    return now() + std::chrono::duration_cast<TimePoint::duration>(std::chrono::duration<double>(seconds));
}

}  // namespace

void begin_child(pid_t parent, int kept) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int file = 0; nothing >= 0 && file <= STDERR_FILENO; ++file) {
        if (file != kept && file != nothing) dup2(nothing, file);
    }
}

Counted count_in_child(const Limits& limits) {
    Counted counted;
    Child child([](const Voice& voice) {
        auto devices = count_devices();
        if (devices.ok()) {
            voice.say("devices", devices.value());
        } else {
            voice.say("failure", devices.take_status().message());
        }
    });
    const std::string why =
        child.read_until("end ", after(limits.seconds), limits.seconds, [&](const std::string& line) {
            if (line.starts_with("devices ")) counted.devices = std::atoi(line.c_str() + 8);
            if (line.starts_with("failure ")) counted.failure = line.substr(8);
        });
    if (!why.empty()) counted.failure = why;
    return counted;
}

std::vector<Facts> measure_in_children(const std::vector<int>& indices, const Limits& limits) {
    std::vector<Facts> all(indices.size());
    std::vector<std::unique_ptr<Child>> children;
    children.reserve(indices.size());
    const TimePoint deadline = after(limits.seconds);
    for (const int index : indices) {
        children.push_back(std::make_unique<Child>([index](const Voice& voice) { work_on(index, voice); }));
    }
    // All are prepared before the first is measured, which none then disturbs.
    for (std::size_t i = 0; i < children.size(); ++i) {
        all[i].info.index = indices[i];
        const std::string why = children[i]->read_until("prepared ", deadline, limits.seconds,
                                                        [&](const std::string& line) { read_fact(line, all[i]); });
        if (!why.empty()) all[i].failure = why;
    }
    for (std::size_t i = 0; i < children.size(); ++i) {
        if (!all[i].failure.empty() || children[i]->has_ended()) continue;
        children[i]->go_on();
        const std::string why = children[i]->read_until("end ", after(limits.seconds), limits.seconds,
                                                        [&](const std::string& line) { read_fact(line, all[i]); });
        if (!why.empty()) all[i].failure = why;
        children[i].reset();
    }
    return all;
}

}  // namespace isthmus::checking
