// A copy between memory that devices reach and the device in chunks, which are divided over several links while it
// runs.
#include "transfer/links/divided_copy.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "backend/device.hpp"
#include "base/clock.hpp"
#include "base/threads.hpp"
#include "transfer/copy/outcome.hpp"

namespace isthmus {
namespace {

class DividedCopy {
  public:
    DividedCopy(Device& own, StreamPool::Loan& loan, Links::Use* links, std::size_t chunk_bytes,
                const Region& destination, const Region& source)
        : own_(own),
          loan_(loan),
          links_(links),
          chunk_bytes_(chunk_bytes),
          destination_(destination),
          source_(source),
          chunks_((source.bytes + chunk_bytes - 1) / chunk_bytes),
          has_arrived_(chunks_) {
        returned_.reserve(relays().size() * Relay::most_slots);
    }

    Outcome run() {
        const TimePoint begun = now();
        Status status;
        while (status.ok() && arrived_ < chunks_) {
            const std::size_t before = arrived_;
            status = receive();
            bool sent = false;
            if (status.ok() && has_work()) status = hand_out(sent);
            if (!sent && arrived_ == before) std::this_thread::yield();
        }
        if (!status.ok()) {
            for (Relay* const relay : relays()) (void)relay->drain();
        }
        Outcome outcome = ended(std::move(status), loan_.stream().synchronize(), source_.bytes);
        if (!outcome.status.ok()) {
            outcome.bytes_completed = first_bytes();
        } else if (links_ != nullptr) {
            links_->ended(source_.bytes, seconds_between(begun, now()));
        }
        return outcome;
    }

  private:
    static constexpr std::size_t depth = StreamPool::depth;
    struct Sent {
        std::size_t chunk = 0;
        TimePoint at{};
        bool was_idle = true;
    };

    std::span<Relay* const> relays() const {
        return links_ != nullptr ? std::span<Relay* const>(links_->relays()) : std::span<Relay* const>();
    }
    bool has_work() const { return next_ < chunks_ || !returned_.empty(); }
    std::size_t own_under_way() const { return own_sent_ - own_arrived_; }
    Region part(const Region& whole, std::size_t chunk) const {
        const std::size_t begin = chunk * chunk_bytes_;
        return {whole.allocation, whole.offset + begin, std::min(chunk_bytes_, whole.bytes - begin)};
    }
    // How much is known to have arrived from the first byte on.
    std::size_t first_bytes() const {
        const auto first = std::find(has_arrived_.begin(), has_arrived_.end(), false) - has_arrived_.begin();
        return std::min(source_.bytes, static_cast<std::size_t>(first) * chunk_bytes_);
    }
    void note(std::size_t chunk) {
        has_arrived_[chunk] = true;
        ++arrived_;
    }

    void own_has_arrived(const Sent& sent) {
        if (links_ != nullptr) links_->own_arrives(part(source_, sent.chunk).bytes, sent.at, sent.was_idle);
        note(sent.chunk);
    }

    Status receive() {
        while (own_under_way() != 0) {
            ISTHMUS_TRY_ASSIGN(passed, own_.has_passed(loan_.event(own_arrived_)));
            if (!passed) break;
            own_has_arrived(own_chunks_[own_arrived_++ % depth]);
        }
        // Those that fail leave the list.
        for (std::size_t i = relays().size(); i-- > 0;) {
            Relay& relay = *relays()[i];
            while (relay.under_way() != 0) {
                auto received = relay.receive(links_->most_times());
                if (!received.ok()) {
                    give_up(relay, received.take_status());
                    break;
                }
                if (!received.value()) break;
                note(*received.value());
            }
        }
        return {};
    }

    void give_up(Relay& relay, const Status& why) {
        links_->lose(relay, why, [this](std::size_t chunk) { returned_.push_back(chunk); });
    }

    Status hand_out(bool& sent) {
        // What a relay lost comes first, and by the own link.
        if (returned_.empty() && links_ != nullptr) {
            const std::size_t left = source_.bytes - next_ * chunk_bytes_;
            if (Relay* const relay = links_->taker(chunk_bytes_, left, own_under_way() * chunk_bytes_)) {
                const std::size_t chunk = next_++;
                Status status =
                    caught([&] { return relay->send(chunk, part(destination_, chunk), part(source_, chunk)); });
                if (!status.ok()) give_up(*relay, status);
                sent = true;
                return {};
            }
            // What the own link does not need at once is for those that are about to take some.
            if (own_under_way() != 0 && links_->may_soon_take()) return {};
        }
        if (own_under_way() == depth) return {};
        const std::size_t chunk = returned_.empty() ? next_ : returned_.back();
        const Region from = part(source_, chunk);
        ISTHMUS_TRY(caught([&] { return own_.copy(loan_.stream(), part(destination_, chunk), from); }));
        ISTHMUS_TRY(own_.record(loan_.event(own_sent_), loan_.stream()));
        const bool was_idle = own_under_way() == 0;
        own_chunks_[own_sent_++ % depth] = {chunk, now(), was_idle};
        if (returned_.empty()) {
            ++next_;
        } else {
            returned_.pop_back();
        }
        if (links_ != nullptr) links_->own_took(from.bytes);
        sent = true;
        return {};
    }

    Device& own_;
    StreamPool::Loan& loan_;
    Links::Use* const links_;
    const std::size_t chunk_bytes_;
    const Region destination_, source_;
    const std::size_t chunks_;
    std::vector<bool> has_arrived_;
    std::vector<std::size_t> returned_;  // by relays that failed; there is room for all
    std::array<Sent, depth> own_chunks_{};
    std::size_t own_sent_ = 0, own_arrived_ = 0;
    std::size_t next_ = 0, arrived_ = 0;
};

}  // namespace

Outcome copy_divided(Device& own, StreamPool::Loan& loan, Links::Use* links, std::size_t chunk_bytes,
                     const Region& destination, const Region& source) {
    return DividedCopy(own, loan, links, chunk_bytes, destination, source).run();
}

}  // namespace isthmus
