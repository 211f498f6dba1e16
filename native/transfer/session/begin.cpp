// Copies that nothing waits for: commands on the caller's stream, which waits where threads have to move memory.
#include <algorithm>
#include <utility>

#include "backend/device.hpp"
#include "base/threads.hpp"
#include "transfer/rows/row_launch.hpp"
#include "transfer/session/starter.hpp"

namespace isthmus {
namespace {

// Copies of no more than this have a thread of their own, which no large copy occupies.
constexpr std::size_t most_small_bytes = std::size_t{1} << 20;

}  // namespace

// A copy that has begun. Its session is let go last.
struct Starter::Pending {
    Pending(std::shared_ptr<const void> in_use, std::shared_ptr<Device> of, std::shared_ptr<AsyncCopy> begun,
            std::size_t length)
        : session(std::move(in_use)), device(std::move(of)), copy(std::move(begun)), bytes(length) {}

    std::shared_ptr<const void> session;
    std::shared_ptr<Device> device;
    std::shared_ptr<AsyncCopy> copy;
    std::size_t bytes = 0;
    std::optional<StreamPool::Loan> own;  // where the caller has no stream
    std::vector<Task> tasks;
    std::shared_ptr<RowLaunch> rows;  // in place of tasks
    std::shared_ptr<HeldCopy> held;   // null where it is commands alone
    bool enqueued = false;
    std::shared_ptr<Device> other;  // whose stream waits for it and is waited for, where the copy is between devices
    std::unique_ptr<Stream> others;

    // When all has been put on `stream`: the event says that it has ended, and the other device's stream waits for it.
    Status record(Event& ended, Stream& stream) const {
        ISTHMUS_TRY(device->record(ended, stream));
        if (others == nullptr) return {};
        Binding binding(*other);
        ISTHMUS_TRY(binding.status());
        return other->wait(*others, ended);
    }
};

Starter::Starter(std::shared_ptr<Device> device, std::size_t threads, const KernelBlocks& blocks, Chooser& chooser,
                 Mover& mover, StreamPool& streams, std::array<StagingLane, 2>& lanes, std::array<Links, 2>& links,
                 const std::array<std::shared_ptr<RingPool>, 2>& rings)
    : device_(std::move(device)),
      threads_(threads),
      blocks_(blocks),
      chooser_(chooser),
      mover_(mover),
      streams_(streams),
      lanes_(lanes),
      links_(links),
      rings_(rings) {
    failed_.reserve(most_failed);
}

void Starter::stop() {
    for (Packer& packer : packers_) packer.thread.stop();
    watcher_.stop();
}

Status Starter::close() {
    const std::lock_guard lock(mutex_);
    for (Packer& packer : packers_) packer.group.reset();
    own_stream_.reset();
    for (const std::shared_ptr<AsyncCopy>& copy : std::exchange(failed_, {})) ISTHMUS_TRY(copy->unseen_failure());
    return {};
}

void Starter::forget() {
    for (Packer& packer : packers_) packer.forget();
    watcher_.forget();
    static_cast<void>(own_stream_.release());
}

Result<std::shared_ptr<CopyHandle>> Starter::begin(const std::vector<std::shared_ptr<CopyJob>>& jobs, Order& order,
                                                   std::shared_ptr<const void> keep,
                                                   std::shared_ptr<const void> session) {
    std::size_t bytes = 0;
    for (const std::shared_ptr<CopyJob>& job : jobs) bytes += job->extent.bytes();
    // Only a copy by itself is between devices.
    const std::shared_ptr<Device> other = jobs.empty() ? nullptr : jobs.front()->other;
    auto copy = std::make_shared<AsyncCopy>(device_, other, bytes, std::move(keep));
    if (jobs.empty()) {
        copy->end({});
        return std::shared_ptr<CopyHandle>(std::move(copy));
    }
    auto pending = std::make_shared<Pending>(std::move(session), device_, std::move(copy), bytes);
    pending->tasks.reserve(jobs.size());
    for (const std::shared_ptr<CopyJob>& job : jobs) pending->tasks.push_back({job, chooser_.choose(*job)});
    pending->other = other;
    pending->others = std::move(order.others);
    return begin(pending, order);
}

Result<std::shared_ptr<CopyHandle>> Starter::begin(std::shared_ptr<RowLaunch> rows, Order& order,
                                                   std::shared_ptr<const void> keep,
                                                   std::shared_ptr<const void> session) {
    const std::size_t bytes = rows->bytes();
    auto copy = std::make_shared<AsyncCopy>(device_, nullptr, bytes, std::move(keep));
    auto pending = std::make_shared<Pending>(std::move(session), device_, std::move(copy), bytes);
    pending->rows = std::move(rows);
    return begin(pending, order);
}

Result<std::shared_ptr<CopyHandle>> Starter::begin(const std::shared_ptr<Pending>& pending, Order& order) {
    std::shared_ptr<AsyncCopy> copy = pending->copy;
    ISTHMUS_TRY(watcher_.start());
    if (order.stream == nullptr && pending->others != nullptr) {
        // The caller's stream is the other device's: it waits for one of this device, and is waited for.
        ISTHMUS_TRY_ASSIGN(own, streams_.borrow());
        pending->own.emplace(std::move(own));
        order.stream = &pending->own->stream();
    }
    // All that may fail comes before anything is begun: what uses the memory of a caller must be watched.
    auto watched = Background::prepare(
        [this, pending] { return watch(*pending) ? Background::Step::ended : Background::Step::waits; });
    if (pending->rows == nullptr && can_enqueue(pending->tasks)) {
        Stream* stream_of_commands = order.stream;
        if (stream_of_commands == nullptr) ISTHMUS_TRY(assign(stream_of_commands, own_stream()));
        ISTHMUS_TRY(begin_on_stream(*stream_of_commands, *pending));
        // What it was given before a command that the device cannot do, nothing else would wait for.
        if (!pending->enqueued && order.stream == nullptr) {
            ISTHMUS_TRY(caught([&] { return stream_of_commands->synchronize(); }));
        }
    }
    if (!pending->enqueued) {
        Stream* held_stream = order.stream;
        if (held_stream == nullptr) {
            ISTHMUS_TRY_ASSIGN(own, streams_.borrow());
            pending->own.emplace(std::move(own));
            held_stream = &pending->own->stream();
        }
        ISTHMUS_TRY(begin_held(*held_stream, *pending));
    }
    watcher_.add(std::move(watched));
    return std::shared_ptr<CopyHandle>(std::move(copy));
}

std::size_t Starter::commands_of(const Task& task) const {
    const CopyJob& job = *task.job;
    const bool reached = !is_pageable(job.ends.host_kind());
    switch (task.choice.kind) {
        case Choice::Kind::direct: return parts_of(job.extent.bytes(), part_bytes);
        case Choice::Kind::device:
            if (!job.is_reached) return job.extent.pieces();
            return job.is_contiguous() ? parts_of(job.extent.bytes(), part_bytes) : job.is_scattered() ? 0 : 1;
        case Choice::Kind::rows: return reached ? job.extent.pieces() : 0;
        case Choice::Kind::pieces:
            if (!reached) return 0;
            if (task.choice.method == PieceMethod::copies) return job.extent.pieces();
            if (task.choice.method == PieceMethod::section) return 1;
            return task.choice.method == PieceMethod::kernel && !job.is_scattered() &&
                           device_->kernels_reach(job.ends.host_kind())
                       ? 1
                       : 0;
        default: return 0;
    }
}

bool Starter::can_enqueue(const std::vector<Task>& tasks) const {
    std::size_t commands = 0;
    for (const Task& task : tasks) {
        const std::size_t more = commands_of(task);
        if (more == 0 || more > most_commands - commands) return false;
        commands += more;
    }
    return true;
}

Status Starter::enqueue(Stream& stream, const Task& task) {
    CopyJob& job = *task.job;
    if (job.is_contiguous()) {
        const std::size_t bytes = job.extent.bytes();
        if (bytes > part_bytes && cut_of(task.choice, job.ends) == Cut::links) {
            if (auto use = links_[job.to_device() ? 0 : 1].use(bytes, Links::chunk_bytes(bytes), &stream)) {
                return enqueue_divided(stream, *use, job.destination_region(), job.source_region(), part_bytes);
            }
        }
        return enqueue_parts(stream, job.destination_region(), job.source_region(), part_bytes);
    }
    const JobPart all{0, job.extent, job.destination, job.source};
    PieceMethod method = task.choice.method;
    if (task.choice.kind == Choice::Kind::device) method = job.is_reached ? PieceMethod::kernel : PieceMethod::copies;
    if (task.choice.kind == Choice::Kind::rows) method = PieceMethod::copies;
    Status status = mover_.enqueue(stream, method, all);
    const bool leaves = status.code() == Code::unsupported && job.extent.pieces() <= most_commands;
    return leaves ? mover_.enqueue(stream, PieceMethod::copies, all) : std::move(status);
}

Status Starter::begin_on_stream(Stream& stream, Pending& pending) {
    ISTHMUS_TRY_ASSIGN(ended, device_->create_untimed_event());
    Status status = caught([&]() -> Status {
        if (pending.others != nullptr) ISTHMUS_TRY(follow(stream, *pending.other, *pending.others));
        for (const Task& task : pending.tasks) ISTHMUS_TRY(enqueue(stream, task));
        return pending.record(*ended, stream);
    });
    // A held copy does all of it again, in the same order.
    if (status.code() == Code::unsupported) return {};
    if (!status.ok()) {
        // What was enqueued before it still uses the memory.
        (void)caught([&] { return stream.synchronize(); });
        return status;
    }
    pending.copy->ends_with(std::move(ended), nullptr);
    pending.enqueued = true;
    return {};
}

Status Starter::begin_held(Stream& stream, Pending& pending) {
    std::shared_ptr<HeldCopy> held;
    if (pending.rows != nullptr) {
        held = held_rows(std::move(pending.rows));
    } else {
        ISTHMUS_TRY(assign(held, held_copy(pending.tasks)));
    }
    ISTHMUS_TRY_ASSIGN(ended, device_->create_untimed_event());
    if (held->has_host_part()) {
        ISTHMUS_TRY_ASSIGN(packer,
                           this->packer(pending.tasks.front().job->to_device(), pending.bytes > most_small_bytes));
        // The packer has the copy until it has left it, and the session until it has let go of the copy.
        packer->thread.add(
            Background::prepare([session = pending.session, mine = held, group = packer->group.get()]() mutable {
                const Background::Step step = mine->go_on(group);
                if (step == Background::Step::ended) mine.reset();
                return step;
            }));
    }
    pending.held = held;
    Status status = caught([&]() -> Status {
        if (pending.others != nullptr) ISTHMUS_TRY(follow(stream, *pending.other, *pending.others));
        ISTHMUS_TRY(held->enqueue(stream));
        return pending.record(*ended, stream);
    });
    if (!status.ok()) {
        held->abandon();
        // What was enqueued before it still uses the memory.
        if (caught([&] { return stream.synchronize(); }).ok()) held->settle();
        return status;
    }
    pending.copy->ends_with(std::move(ended), std::move(held));
    return {};
}

Result<Starter::Packer*> Starter::packer(bool to_device, bool large) {
    Packer& packer = packers_[(to_device ? 0U : 1U) + (large ? 2U : 0U)];
    ISTHMUS_TRY(packer.thread.start());
    const std::lock_guard lock(mutex_);
    if (large && packer.group == nullptr) {
        // Without room for more threads, the packer's own does it all.
        auto group = WorkerGroup::start(threads_, lanes_[to_device ? 0 : 1].group());
        if (group.ok()) packer.group = std::move(group.value());
    }
    return &packer;
}

bool Starter::watch(Pending& pending) {
    if (!pending.copy->poll()) return false;
    if (pending.held != nullptr && pending.held->has_host_part() && !pending.held->has_left()) return false;
    if (!pending.copy->unseen_failure().ok()) {
        const std::lock_guard lock(mutex_);
        if (failed_.size() < most_failed) failed_.push_back(pending.copy);
    }
    return true;
}

Result<Stream*> Starter::own_stream() {
    const std::lock_guard lock(mutex_);
    if (own_stream_ == nullptr) ISTHMUS_TRY(assign(own_stream_, device_->create_stream()));
    return own_stream_.get();
}

Status Starter::follow(Stream& stream, Device& other, Stream& others) {
    std::unique_ptr<Event> reached;
    {
        Binding binding(other);
        ISTHMUS_TRY(binding.status());
        ISTHMUS_TRY(assign(reached, other.create_untimed_event()));
        ISTHMUS_TRY(other.record(*reached, others));
    }
    return device_->wait(stream, *reached);
}

}  // namespace isthmus
