// Opens sessions, lets calls in, and puts them in the order of the caller's streams.
#include "transfer/session/session.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "backend/device.hpp"
#include "backend/device_info.hpp"
#include "base/fork.hpp"
#include "base/processors.hpp"
#include "transfer/session/session_impl.hpp"
#include "transfer/table/table_file.hpp"

namespace isthmus {
namespace {

// From here on, asking the driver about memory takes no time worth speaking of next to the copy.
constexpr std::size_t most_unasked_bytes = std::size_t{1} << 20;

// As many as any rule wants, of those that there are processors for; for two links where there may be as many.
std::size_t threads_for(const TransferTable& table, std::size_t most, const Paths& paths) {
    std::size_t threads = 1;
    for (const BufferRule& rule : table.buffers) threads = std::max(threads, rule.threads);
    for (const PieceRule& rule : table.pieces) threads = std::max(threads, rule.threads);
    if (!paths.is_own()) threads *= 2;
    return std::min(threads, most != 0 ? most : allowed_processors());
}

std::optional<LanePlan> lane_plan(std::size_t budget_bytes, bool to_device, const TransferTable& table,
                                  const Paths& paths) {
    RingUses uses{0, 0, !paths.is_own()};
    for (const BufferRule& rule : table.buffers) {
        if (rule.to_device == to_device) uses.chunk_bytes = std::max(uses.chunk_bytes, rule.chunk_bytes);
    }
    for (const PieceRule& rule : table.pieces) {
        if (rule.to_device == to_device) uses.pieces = std::max(uses.pieces, rule.pieces);
    }
    return LanePlan::of(budget_bytes, to_device, uses);
}

KernelBlocks blocks_for(const TransferTable& table, const LinkReading& link, std::uint32_t limit) {
    KernelBlocks blocks = table.kernel_blocks(link);
    blocks.limit = limit;
    return blocks;
}

Links links_of(const std::shared_ptr<Neighbours>& neighbours, const std::shared_ptr<Device>& device, bool to_device,
               const TransferTable& table) {
    constexpr std::size_t bytes = std::size_t{256} << 20;
    const double seconds = table.direct_seconds(to_device, bytes);
    return {neighbours, device, to_device, seconds > 0 ? static_cast<double>(bytes) / seconds : 0, table.links};
}

std::shared_ptr<RingPool> ring_pool(const std::shared_ptr<Device>& device, std::size_t budget_bytes, bool to_device) {
    return std::make_shared<RingPool>(device, BudgetShares::of(budget_bytes, to_device).pool_bytes);
}

// How much memory this host has; as much as there are addresses where the system does not say.
std::size_t installed_bytes() {
    const long pages = sysconf(_SC_PHYS_PAGES);
    const long page_bytes = sysconf(_SC_PAGESIZE);
    return pages <= 0 || page_bytes <= 0 ? SIZE_MAX
                                         : static_cast<std::size_t>(pages) * static_cast<std::size_t>(page_bytes);
}

Status forked() {
    return {
        Code::call_failed,
        "the session was used before this process was forked from its parent, and neither its threads nor the driver "
        "work in the child: create the process with spawn, or open the session in the child, before anything else "
        "opens the device"};
}

}  // namespace

Result<std::shared_ptr<Session>> Session::open(std::shared_ptr<Device> device, SessionOptions options) {
    const DeviceInfo& info = device->info();
    ISTHMUS_TRY_ASSIGN(paths, Paths::parse(options.paths, info.backend, info.index));
    const std::size_t budget =
        options.pinned_budget_bytes.value_or(default_pinned_budget_bytes * (paths.is_own() ? 1 : 2));
    const std::size_t memory = installed_bytes();
    if (budget > memory) {
        return invalid("a pinned budget of " + std::to_string(budget) + " bytes, and the host has " +
                       std::to_string(memory) +
                       " bytes of memory in all; the default of 64 MiB is enough for nearly everything");
    }
    TransferTable table = options.table ? *options.table : table_for(device->info());
    options.pinned_budget_bytes = budget;
    // Devices that were named have to be there.
    for (const int index : paths.devices) {
        if (auto there = device->open_other(index); !there.ok()) return there.take_status();
    }
    const std::size_t threads = threads_for(table, options.threads, paths);
    auto session = std::make_shared<SessionImpl>(std::move(device), std::move(options), std::move(paths),
                                                 std::move(table), threads);
    ISTHMUS_TRY(session->prepare());
    return std::shared_ptr<Session>(std::move(session));
}

SessionImpl::SessionImpl(std::shared_ptr<Device> device, SessionOptions options, Paths paths, TransferTable table,
                         std::size_t threads)
    : device_(std::move(device)),
      options_(std::move(options)),
      budget_(*options_.pinned_budget_bytes),
      table_(std::move(table)),
      blocks_(blocks_for(table_, device_->info().link, options_.kernel_blocks)),
      threads_(threads),
      generation_(fork_generation()),
      streams_(device_),
      lanes_{StagingLane(device_, lane_plan(budget_, true, table_, paths), threads, blocks_),
             StagingLane(device_, lane_plan(budget_, false, table_, paths), threads, blocks_)},
      neighbours_(std::make_shared<Neighbours>(device_, std::move(paths))),
      links_{links_of(neighbours_, device_, true, table_), links_of(neighbours_, device_, false, table_)},
      chooser_(*device_, options_, table_, threads_, blocks_, lanes_, links_),
      mover_(*device_, options_, blocks_, chooser_, streams_, lanes_, links_),
      rings_{ring_pool(device_, budget_, true), ring_pool(device_, budget_, false)},
      resolver_(*device_, blocks_, chooser_, streams_, lanes_, rings_),
      starter_(device_, threads_, blocks_, chooser_, mover_, streams_, lanes_, links_, rings_),
      pool_(std::make_shared<PinnedPool>(device_)) {
    first_staged_.fill(most_unasked_bytes);
    for (const BufferRule& rule : table_.buffers) {
        std::size_t& first = first_staged_[rule.to_device ? 0 : 1];
        if (rule.method == BufferMethod::staged) first = std::min(first, rule.from_bytes);
    }
}

Status SessionImpl::prepare() {
    Binding binding(*device_);
    ISTHMUS_TRY(binding.status());
    if (!options_.follows_default_stream) return {};
    auto stream = device_->borrow_stream(0);
    if (stream.ok()) default_stream_ = std::move(stream.value());
    return {};
}

SessionImpl::~SessionImpl() {
    if (generation_ == fork_generation()) {
        (void)close();
        return;
    }
    streams_.forget();
    for (StagingLane& lane : lanes_) lane.forget();
    for (Links& links : links_) links.forget();
    neighbours_->forget();
    for (const std::shared_ptr<RingPool>& rings : rings_) rings->forget();
    keep_for_good(std::move(pool_));
    starter_.forget();
    static_cast<void>(default_stream_.release());  // as the lanes: never freed
}

SessionImpl::Call::Call(SessionImpl& session, std::shared_ptr<const void> keep)
    : keep_(std::move(keep)), session_(session), forked_(session.generation_ != fork_generation()) {
    if (forked_) return;
    ++session_.calls_;
    open_ = !session_.closed_;
}

SessionImpl::Call::~Call() {
    if (!forked_ && --session_.calls_ == 0 && session_.closed_) session_.calls_.notify_all();
}

Status SessionImpl::Call::status() const {
    if (open_) return {};
    if (forked_) return forked();
    return invalid("the session was closed; open another one");
}

Result<Order> SessionImpl::order_of(std::optional<std::uintptr_t> stream) {
    Order order;
    order.stream = default_stream_.get();
    if (!stream || (*stream == 0 && default_stream_ != nullptr)) {
        if (order.stream != nullptr) ISTHMUS_TRY(order.stream->check_usable());
        return order;
    }
    ISTHMUS_TRY_ASSIGN(borrowed, device_->borrow_stream(*stream));
    order.borrowed = std::move(borrowed);
    order.stream = order.borrowed.get();
    ISTHMUS_TRY(order.stream->check_usable());
    return order;
}

Result<Order> SessionImpl::order_of(std::optional<std::uintptr_t> stream, Device& other) {
    const bool is_default = stream.value_or(0) <= last_default_stream;
    auto own = order_of(stream);
    if (own.ok() && !is_default) return own;
    Order order;
    if (own.ok()) {
        order = std::move(own.value());
    } else {
        Status why = own.take_status();
        if (is_default || why.code() != Code::invalid_argument) return why;
    }
    Binding binding(other);
    ISTHMUS_TRY(binding.status());
    ISTHMUS_TRY_ASSIGN(borrowed, other.borrow_stream(stream.value_or(0)));
    ISTHMUS_TRY(borrowed->check_usable());
    order.others = std::move(borrowed);
    return order;
}

std::vector<std::pair<std::string, std::size_t>> SessionImpl::links_taken() {
    std::vector<std::pair<std::string, std::size_t>> sums;
    if (neighbours_->is_own()) return sums;
    const auto add = [&sums](const std::string& name, std::size_t bytes) {
        const auto known = std::find_if(sums.begin(), sums.end(), [&](const auto& each) { return each.first == name; });
        if (known == sums.end()) {
            sums.emplace_back(name, bytes);
        } else {
            known->second += bytes;
        }
    };
    for (Links& links : links_) {
        const Links::Taken taken = links.taken();
        add(name_of(*device_), taken.own);
        for (const auto& [name, bytes] : taken.of_neighbours) add(name, bytes);
    }
    return sums;
}

Status SessionImpl::trim() {
    BoundCall call(*this);
    ISTHMUS_TRY(call.status());
    give_back();
    pool_->trim();
    return {};
}

Result<PinnedBlock> SessionImpl::pinned(std::size_t bytes) {
    BoundCall call(*this);
    ISTHMUS_TRY(call.status());
    return pool_->allocate(bytes);
}

Result<PinnedRange> SessionImpl::pin(std::uintptr_t address, std::size_t bytes) {
    BoundCall call(*this);
    ISTHMUS_TRY(call.status());
    return PinnedRange::lock(device_, address, bytes);
}

void SessionImpl::give_back() {
    for (StagingLane& lane : lanes_) lane.trim();
    for (Links& links : links_) links.trim();
    for (const std::shared_ptr<RingPool>& rings : rings_) rings->trim();
    resolver_.trim();
    streams_.trim();
}

Status SessionImpl::close() {
    if (generation_ != fork_generation()) return forked();
    closed_ = true;
    for (std::size_t calls = calls_; calls != 0; calls = calls_) calls_.wait(calls);
    // Where the device is lost, which every copy since then has said, its handles call no driver and threads end all
    // the same.
    const Binding binding(*device_);
    starter_.stop();
    give_back();
    pool_->close();
    return starter_.close();
}

std::shared_ptr<const void> SessionImpl::in_use() {
    return std::make_shared<Call>(*this, shared_from_this());
}

}  // namespace isthmus
