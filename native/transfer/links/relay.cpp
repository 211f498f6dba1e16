// A link over another device, for one direction.
#include "transfer/links/relay.hpp"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "backend/device.hpp"
#include "backend/device_info.hpp"
#include "base/fork.hpp"
#include "base/threads.hpp"

namespace isthmus {
namespace {

// A stream's queue takes about a thousand commands, of which a chunk is three on each of two streams; those of a copy
// that was begun before nothing was in flight are counted with it.
constexpr std::size_t most_relayed_chunks = 300;
// By which a relay is asked, and for how long an answer is worth waiting for.
constexpr std::size_t asked_bytes = std::size_t{256} << 10;
constexpr double answer_seconds = 200e-6, look_seconds = 1e-3;
// What either of these, or one copy of a look, takes.
constexpr std::size_t room_bytes = Relay::look_bytes / Relay::look_copies;
static_assert(asked_bytes <= room_bytes);

}  // namespace

// The relays of this process whose work may wait for a caller's stream.
class Relay::Waiting {
  public:
    static Waiting& get() {
        // Never destroyed: sessions may outlast all else.
        static auto* const made = new Waiting;
        return *made;
    }
    bool add(Relay& relay) {
        const std::lock_guard lock(mutex_);
        std::erase_if(relays_, [](Relay* each) { return !each->may_wait(); });
        const auto is_of_neighbour = [&](const Relay* each) {
            return each != &relay && each->neighbour_->info().index == relay.neighbour_->info().index;
        };
        if (std::ranges::any_of(relays_, is_of_neighbour)) return false;
        if (std::ranges::find(relays_, &relay) == relays_.end()) relays_.push_back(&relay);
        relay.is_reserved_ = relay.is_listed_ = true;
        return true;
    }
    static void remove(Relay& relay) {
        if (!relay.is_listed_) return;
        Waiting& all = get();
        const std::lock_guard lock(all.mutex_);
        std::erase(all.relays_, &relay);
    }

  private:
    ProcessMutex mutex_;
    std::vector<Relay*> relays_;
};

Relay::~Relay() {
    if (memory_ == nullptr) return;
    Waiting::remove(*this);
    // What gives memory back may not wait for what uses it.
    (void)synchronize();
}

Status Relay::prepare() {
    if (memory_ != nullptr) return {};
    {
        Binding binding(*own_);
        ISTHMUS_TRY(binding.status());
        ISTHMUS_TRY(assign(asked_own_, own_->hold(MemoryKind::device, asked_bytes)));
    }
    Binding binding(*neighbour_);
    ISTHMUS_TRY(binding.status());
    for (std::unique_ptr<Stream>* stream : {&in_, &out_}) ISTHMUS_TRY(assign(*stream, neighbour_->create_stream()));
    for (auto* events : {&filled_, &emptied_}) {
        for (std::unique_ptr<Event>& event : *events) ISTHMUS_TRY(assign(event, neighbour_->create_untimed_event()));
    }
    for (std::unique_ptr<Event>* event : {&begun_, &first_, &ended_, &look_begun_, &look_ended_}) {
        ISTHMUS_TRY(assign(*event, neighbour_->create_event()));
    }
    ISTHMUS_TRY(assign(answer_, neighbour_->create_untimed_event()));
    ISTHMUS_TRY(assign(asked_host_, neighbour_->hold(MemoryKind::pinned, room_bytes)));
    return assign(memory_, neighbour_->hold(MemoryKind::device, memory_bytes + room_bytes));
}

void Relay::begin(std::size_t chunk_bytes) {
    slot_bytes_ = chunk_bytes;
    sent_ = arrived_ = 0;
}

Status Relay::ask() {
    if (!answers()) return {};
    Binding binding(*neighbour_);
    ISTHMUS_TRY(binding.status());
    const Region here{memory_.get(), memory_bytes, asked_bytes};
    const Region host{asked_host_.get(), 0, asked_bytes};
    const Region there{asked_own_.get(), 0, asked_bytes};
    ISTHMUS_TRY(neighbour_->copy(*in_, here, to_device_ ? host : there));
    ISTHMUS_TRY(neighbour_->record(*answer_, *in_));
    ISTHMUS_TRY(neighbour_->wait(*out_, *answer_));
    ISTHMUS_TRY(neighbour_->copy(*out_, to_device_ ? there : host, here));
    ISTHMUS_TRY(neighbour_->record(*answer_, *out_));
    asked_at_ = now();
    return {};
}

bool Relay::answers() {
    if (asked_at_) {
        auto passed = neighbour_->has_passed(*answer_);
        if (passed.ok() && passed.value()) asked_at_.reset();
    }
    return !asked_at_;
}

bool Relay::may_soon_answer() const {
    return asked_at_ && seconds_between(*asked_at_, now()) < answer_seconds;
}

Status Relay::look() {
    looked_at_ = now();
    if (is_looking_) return {};
    Binding binding(*neighbour_);
    ISTHMUS_TRY(binding.status());
    const Region here{memory_.get(), memory_bytes, room_bytes};
    const Region host{asked_host_.get(), 0, room_bytes};
    Stream& stream = to_device_ ? *in_ : *out_;
    ISTHMUS_TRY(neighbour_->record(*look_begun_, stream));
    for (std::size_t i = 0; i < look_copies; ++i) {
        ISTHMUS_TRY(neighbour_->copy(stream, to_device_ ? here : host, to_device_ ? host : here));
    }
    ISTHMUS_TRY(neighbour_->record(*look_ended_, stream));
    is_looking_ = true;
    return {};
}

bool Relay::may_soon_answer_look() const {
    return is_looking_ && seconds_between(looked_at_, now()) < look_seconds;
}

std::optional<bool> Relay::is_free(double most_times) {
    if (!is_looking_) return std::nullopt;
    auto passed = neighbour_->has_passed(*look_ended_);
    if (passed.ok() && !passed.value()) return std::nullopt;
    is_looking_ = false;
    auto seconds = neighbour_->seconds_between(*look_begun_, *look_ended_);
    if (!passed.ok() || !seconds.ok()) return false;
    const bool is_usual = seconds.value() <= most_times * quickest_look_;
    if (seconds.value() > 0) quickest_look_ = std::min(quickest_look_, seconds.value());
    return is_usual;
}

Status Relay::send(std::size_t chunk, const Region& destination, const Region& source) {
    const std::size_t index = sent_ % most_slots;
    chunks_[index] = {chunk, source.bytes, now(), under_way() == 0};
    ++sent_;
    Binding binding(*neighbour_);
    ISTHMUS_TRY(binding.status());
    return pass_on(index, destination, source);
}

Status Relay::pass_on(std::size_t index, const Region& destination, const Region& source) {
    const Region here = slot(index, source.bytes);
    ISTHMUS_TRY(neighbour_->copy(*in_, here, source));
    ISTHMUS_TRY(neighbour_->record(*filled_[index], *in_));
    ISTHMUS_TRY(neighbour_->wait(*out_, *filled_[index]));
    ISTHMUS_TRY(neighbour_->copy(*out_, destination, here));
    return neighbour_->record(*emptied_[index], *out_);
}

Result<std::optional<std::size_t>> Relay::receive(double most_times) {
    if (under_way() == 0) return std::optional<std::size_t>();
    const std::size_t index = arrived_ % most_slots;
    ISTHMUS_TRY_ASSIGN(passed, neighbour_->has_passed(*emptied_[index]));
    if (!passed) return std::optional<std::size_t>();
    const Sent& sent = chunks_[index];
    pace_.arrives(sent.bytes, sent.at, sent.was_idle, most_times);
    carried_ += sent.bytes;
    return std::optional<std::size_t>(take_back());
}

std::size_t Relay::take_back() {
    return chunks_[arrived_++ % most_slots].chunk;
}

Status Relay::drain() {
    // Not for what was asked with: that may take as long as it likes.
    return under_way() != 0 ? synchronize() : Status();
}

Status Relay::synchronize() {
    Binding binding(*neighbour_);
    ISTHMUS_TRY(binding.status());
    Status status = in_->synchronize();
    Status last = out_->synchronize();
    return status.ok() ? std::move(last) : std::move(status);
}

// In a context that is gone its event is, too.
Result<bool> Relay::has_ended() {
    if (bytes_ == 0) return true;
    Binding binding(*neighbour_);
    ISTHMUS_TRY(binding.status());
    return neighbour_->has_passed(*ended_);
}

bool Relay::is_free_for(Stream* stream, std::size_t chunks) {
    if (auto ended = has_ended(); !ended.ok() || ended.value()) {
        queued_chunks_ = 0;
        return ended.ok();
    }
    const bool follows = stream != nullptr && stream_ && stream->identity() == stream_;
    return follows && queued_chunks_ + chunks <= most_relayed_chunks;
}

void Relay::take_time(double most_times) {
    auto ended = has_ended();
    if (is_timed_ || !ended.ok() || !ended.value()) return;
    is_timed_ = true;
    auto seconds = neighbour_->seconds_between(*first_, *ended_);
    // The first copy maps what the two devices see of each other.
    if (!std::exchange(is_mapped_, true) || bytes_ == first_bytes_ || !seconds.ok() || seconds.value() <= 0) return;
    pace_.arrived(bytes_ - first_bytes_, seconds.value(), false, most_times);
}

bool Relay::may_wait() {
    if (is_reserved_) return true;
    Binding binding(*neighbour_);
    if (!binding.status().ok()) return false;
    auto begun = neighbour_->has_passed(*begun_);
    return begun.ok() && !begun.value();
}

bool Relay::reserve() {
    return Waiting::get().add(*this);
}

Status Relay::begin_queue(Event& reached) {
    Binding binding(*neighbour_);
    ISTHMUS_TRY(binding.status());
    next_chunk_ = next_bytes_ = 0;
    // What came before may still use the slots.
    if (bytes_ != 0) ISTHMUS_TRY(neighbour_->wait(*in_, *ended_));
    ISTHMUS_TRY(neighbour_->wait(*in_, reached));
    ISTHMUS_TRY(neighbour_->wait(*out_, reached));
    return neighbour_->record(*begun_, *in_);
}

Status Relay::queue(const Region& destination, const Region& source) {
    Binding binding(*neighbour_);
    ISTHMUS_TRY(binding.status());
    const std::size_t index = next_chunk_ % most_slots;
    if (next_chunk_ >= most_slots) ISTHMUS_TRY(neighbour_->wait(*in_, *emptied_[index]));
    ISTHMUS_TRY(pass_on(index, destination, source));
    if (next_chunk_++ == 0) ISTHMUS_TRY(neighbour_->record(*first_, *out_));
    next_bytes_ += source.bytes;
    return {};
}

Status Relay::end_queue(Stream& stream) {
    {
        Binding binding(*neighbour_);
        ISTHMUS_TRY(binding.status());
        ISTHMUS_TRY(neighbour_->record(*ended_, *out_));
    }
    queued_chunks_ += next_chunk_;
    release();
    bytes_ = next_bytes_;
    first_bytes_ = std::min(slot_bytes_, bytes_);
    carried_ += bytes_;
    stream_ = stream.identity();
    is_timed_ = false;
    return {};
}

Status Relay::join(Device& own, Stream& stream) {
    return own.wait(stream, *ended_);
}

void Relay::leave(Device& own, Stream& stream) {
    // Nothing is waited for where that can be helped: the stream may be held until the caller goes on.
    if (!caught([&] { return follow_both(own, stream); }).ok()) (void)synchronize();
    release();
}

Status Relay::follow_both(Device& own, Stream& stream) {
    {
        Binding binding(*neighbour_);
        ISTHMUS_TRY(binding.status());
        ISTHMUS_TRY(neighbour_->record(*ended_, *in_));
        ISTHMUS_TRY(neighbour_->wait(*out_, *ended_));
        ISTHMUS_TRY(neighbour_->record(*ended_, *out_));
    }
    return own.wait(stream, *ended_);
}

void Relay::forget() {
    Waiting::remove(*this);
    keep_for_good(std::move(asked_host_));
    keep_for_good(std::move(asked_own_));
    keep_for_good(std::move(answer_));
    keep_for_good(std::move(look_begun_));
    keep_for_good(std::move(look_ended_));
    keep_for_good(std::move(memory_));
    keep_for_good(std::move(in_));
    keep_for_good(std::move(out_));
    keep_for_good(std::move(begun_));
    keep_for_good(std::move(first_));
    keep_for_good(std::move(ended_));
    keep_for_good(std::move(filled_));
    keep_for_good(std::move(emptied_));
}

}  // namespace isthmus
