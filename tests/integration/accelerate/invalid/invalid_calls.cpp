// Calls that copy, each with one parameter or two changed to what is wrong or unusual: a line for each of what the
// driver answered, also behind work that has not ended, and of what is in memory then.
//
// invalid_calls REACH [SEED]: REACH is how it gets at the driver (driver.hpp). No line says where memory lies, so that
// two runs say the same where the driver is the same. A call that ends its process, as drivers do where an address is
// missing, has the signal for an answer, and a process anew makes those behind it.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "forms.hpp"

namespace {

struct Chosen {
    const Parameter* parameter;
    const Change* change;
};

// Which call of all is made, which the process that waits for this one reads; those before `skipped` were made already.
long* at_call = nullptr;
long calls = 0, skipped = 0;
bool is_made_already() {
    *at_call = calls;
    return calls++ < skipped;
}

void report(const Form& form, const std::vector<Chosen>& chosen) {
    if (is_made_already()) return;
    std::string name = form.name;
    std::vector<Value> before;
    for (const auto& [parameter, change] : chosen) {
        before.push_back(*parameter->place);
        *parameter->place = change->value;
        name += std::string(", ") + parameter->name + ": " + change->name;
    }
    std::printf("%s: ", name.c_str());
    std::fflush(stdout);
    const Code code = form.call();
    const Code ended = driver->cuStreamSynchronize(world->stream);
    const Code all_ended = driver->cuStreamSynchronize(nullptr);
    const Value more = form.more();
    std::printf("%d %d %d %llu %016llx", code, ended, all_ended, static_cast<unsigned long long>(more),
                static_cast<unsigned long long>(world->digest()));
    if (code != success) std::printf(" gated %d", behind_a_gate(form));
    std::printf("\n");
    for (std::size_t i = chosen.size(); i-- > 0;) *chosen[i].parameter->place = before[i];
    if (code == success) world->reset();
}

void report_all(const Form& form, std::mt19937_64& random) {
    report(form, {});
    for (const Parameter& parameter : form.parameters) {
        for (const Change& change : parameter.changes) {
            if (form.is_generic && std::string_view(change.name) == "the end") continue;
            report(form, {{&parameter, &change}});
        }
    }
    if (form.is_generic) return;
    // Where an address points to is looked at, whatever the position that rows begin at.
    for (std::size_t i = 2; i < form.parameters.size(); ++i) {
        const Parameter& y = form.parameters[i];
        if (!std::string_view(y.name).starts_with("y of")) continue;
        const Parameter& place = form.parameters[i - 2];
        for (const Change& change : place.changes) report(form, {{&place, &change}, {&y, y.changes.data()}});
    }
    // Two at once: what is wrong in two ways has one answer.
    for (int i = 0; i < 12; ++i) {
        const auto any = [&](const auto& list) -> const auto& {
            return list[random() % list.size()];
        };
        const Parameter& one = any(form.parameters);
        const Parameter& other = any(form.parameters);
        if (&one == &other) continue;
        report(form, {{&one, &any(one.changes)}, {&other, &any(other.changes)}});
    }
}

int all_calls(unsigned long long seed) {
    alarm(100);
    std::mt19937_64 random(seed);
    const Driver functions;
    driver = &functions;
    World made;
    world = &made;
    std::vector<Form> forms;
    for (const bool to_device : {true, false}) {
        add_linear(forms, to_device);
        add_sections(forms, to_device);
        add_batches(forms, to_device);
    }
    for (const Form& form : forms) report_all(form, random);
    // Without a context nothing is valid.
    driver->cuCtxSetCurrent(nullptr);
    for (const Form& form : forms) {
        if (is_made_already()) continue;
        std::printf("%s, without a context: ", form.name.c_str());
        std::fflush(stdout);
        std::printf("%d\n", form.call());
    }
    driver->cuCtxSetCurrent(world->context);
    std::printf("wrong: %ld\n", wrong.load());
    std::fflush(stdout);
    return wrong == 0 ? 0 : 1;
}

}  // namespace

int main(int count, char** words) {
    if (count < 2) return 2;
    reach = words[1];
    const unsigned long long seed = count > 2 ? std::strtoull(words[2], nullptr, 10) : 1;
    void* const shared = mmap(nullptr, sizeof(long), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) return 2;
    at_call = static_cast<long*>(shared);
    while (true) {
        const pid_t child = fork();
        if (child == 0) return all_calls(seed);
        int status = 0;
        if (child < 0 || waitpid(child, &status, 0) != child) return 2;
        if (WIFEXITED(status)) return WEXITSTATUS(status);
        std::printf("ends with signal %d\n", WTERMSIG(status));
        std::fflush(stdout);
        if (WTERMSIG(status) == SIGALRM) return 1;
        skipped = *at_call + 1;
    }
}
