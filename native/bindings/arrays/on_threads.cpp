// Looks at thousands of things on several threads.
#include "bindings/arrays/on_threads.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>

#include "base/fork.hpp"
#include "base/processors.hpp"
#include "base/worker_group.hpp"

namespace isthmus::bindings {
namespace {

constexpr std::size_t most_threads = 15;
constexpr std::size_t part = 1024;
// They read memory alone. Only a process that is stopped takes any time.
constexpr double limit_seconds = 1e6;

// Null where there is one processor, or no room for threads. Those of a process that was forked are not in its child.
WorkerGroup* threads() {
    static unsigned generation = fork_generation();
    static bool started = false;
    static std::unique_ptr<WorkerGroup>* const group = new std::unique_ptr<WorkerGroup>;  // outlives the interpreter
    if (generation != fork_generation()) {
        keep_for_good(std::move(*group));
        generation = fork_generation();
        started = false;
    }
    if (!std::exchange(started, true)) {
        const std::size_t count = std::min(allowed_processors() - 1, most_threads);
        if (count > 0) {
            auto begun = WorkerGroup::start(count);
            if (begun.ok()) *group = std::move(begun.value());
        }
    }
    return group->get();
}

}  // namespace

bool all_hold(std::size_t count, const std::function<bool(std::size_t begin, std::size_t end)>& holds) {
    WorkerGroup* const group = count < least_on_threads ? nullptr : threads();
    if (group == nullptr) return holds(0, count);
    std::atomic<std::size_t> next = 0;
    std::atomic<bool> all = true;
    const auto look = [&](std::size_t, const std::atomic<bool>&) -> Status {
        while (all) {
            const std::size_t begin = next.fetch_add(part);
            if (begin >= count) break;
            if (!holds(begin, std::min(begin + part, count))) all = false;
        }
        return {};
    };
    const std::size_t others = std::max<std::size_t>(count / least_on_threads * 2 - 1, 1);
    const Status status = group->run_with_caller(look, {limit_seconds, "looking at arrays"}, others);
    return status.ok() ? all.load() : holds(0, count);
}

}  // namespace isthmus::bindings
