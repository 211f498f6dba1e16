// The links of one direction next to the device's own link: by which other devices, for which copies, and at what rate.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backend/region.hpp"
#include "transfer/links/ceiling.hpp"
#include "transfer/links/link_rule.hpp"
#include "transfer/links/paths.hpp"
#include "transfer/links/relay.hpp"

namespace isthmus {

class Device;

// Other devices that were opened for a session, and why the others are of no use to it.
class Neighbours {
  public:
    Neighbours(std::shared_ptr<Device> own, Paths paths) : own_(std::move(own)), paths_(std::move(paths)) {}

    bool is_own() const { return paths_.is_own(); }
    struct Found {
        std::string name;                // "cuda:1"
        std::shared_ptr<Device> device;  // null where it is of no use
        std::string why_not;
    };
    // Opens them the first time. Empty where the session goes by its own link alone.
    const std::vector<Found>& found();
    // In the child of a fork: lets go without calling the driver.
    void forget();

  private:
    Found open(int index) const;

    const std::shared_ptr<Device> own_;
    const Paths paths_;
    std::once_flag once_;
    std::vector<Found> found_;
};

class Links {
  public:
    // `own_bytes_per_second`: of the own link alone, 0 where it was not measured.
    Links(std::shared_ptr<Neighbours> neighbours, std::shared_ptr<Device> own, bool to_device,
          double own_bytes_per_second, std::vector<LinkRule> rules);
    Links(const Links&) = delete;
    Links& operator=(const Links&) = delete;

    // The relays, for one copy alone.
    class Use {
      public:
        Use(Links& owner, std::vector<Relay*> relays)
            : owner_(&owner), relays_(std::move(relays)), links_(1 + unshared(relays_)), own_(owner.own_pace_) {}
        Use(Use&& other) noexcept
            : owner_(std::exchange(other.owner_, nullptr)),
              relays_(std::move(other.relays_)),
              links_(other.links_),
              own_(other.own_),
              own_bytes_(other.own_bytes_) {}
        Use& operator=(Use&&) = delete;
        // Counts what each link took.
        ~Use();
        const std::vector<Relay*>& relays() const { return relays_; }
        // Who takes the next chunk, of the bytes that are not taken: null for the own link, on which so many are
        // in flight. A link that would be waited for at the end takes none.
        Relay* taker(std::size_t chunk_bytes, std::size_t left_bytes, std::size_t own_bytes);
        // Whether a relay that takes none yet is about to.
        bool may_soon_take() const;
        // The own link has taken a chunk, or all that no relay is given of a copy that is divided beforehand.
        void own_took(std::size_t bytes);
        void own_keeps(std::size_t bytes) { own_bytes_ += bytes; }
        // A chunk arrives by the own link, as Pace::arrives.
        void own_arrives(std::size_t bytes, TimePoint sent, bool was_idle);
        // How many times as long as alone a relay may take before others are at work on its link.
        double most_times() const;
        // A large copy of so many bytes has ended after so long.
        void ended(std::size_t bytes, double seconds);
        // Around what a stream is given: for the own link, and for all. What both took is looked at when a later copy
        // begins; nothing while that has not happened.
        void begin_queue(Stream& stream);
        void end_own_queue(Stream& stream);
        void end_queue(Stream& stream, std::size_t bytes, std::size_t own_bytes);
        // Takes a relay that has failed out of this copy and all later ones. Precondition: it is at work no more, or
        // what the caller's stream is given from now on comes after it.
        void lose(Relay& relay, const Status& why);
        // The same when it is at work no more, which is waited for; its chunks that have not arrived are to be redone.
        template <typename Redo>
        void lose(Relay& relay, const Status& why, const Redo& redo) {
            (void)relay.drain();
            lose(relay, why);
            while (relay.under_way() != 0) redo(relay.take_back());
        }
        // How many of so many bytes go by each relay, in their order, where chunks are not handed out.
        std::vector<std::size_t> divide(std::size_t bytes, std::size_t chunk_bytes);

      private:
        Links* owner_;  // null once it was moved on
        std::vector<Relay*> relays_;
        std::size_t links_;  // that carry its bytes
        Pace& own_;
        std::size_t own_bytes_ = 0;  // that it took
    };
    // For a copy of so many bytes in such chunks, in the order of `stream` or, without one, of the calling thread. None
    // where the own link does as well alone, another copy uses the relays, or no neighbour is of use.
    std::optional<Use> use(std::size_t bytes, std::size_t chunk_bytes, Stream* stream);
    // What suits a copy that is divided beforehand; and one whose chunks a thread hands out as they arrive.
    static std::size_t chunk_bytes(std::size_t bytes);
    std::size_t waited_chunk_bytes(std::size_t bytes) const;

    // What each link's part of such a copy would be, and why neighbours that were asked for have none.
    struct Shares {
        double own = 1;
        std::vector<std::pair<std::string, double>> of_neighbours;
        std::vector<std::string> not_used;  // sentences
    };
    Shares shares(std::size_t bytes);
    // The bytes of divided copies that went by the own link, and by each neighbour's, in the order of the
    // devices.
    struct Taken {
        std::size_t own = 0;
        std::vector<std::pair<std::string, std::size_t>> of_neighbours;
    };
    Taken taken();
    bool is_own() const { return neighbours_->is_own(); }
    // Whether such a copy has any part but the own one.
    bool divides(std::size_t bytes);
    // Gives the neighbours' memory back that no copy uses.
    void trim();
    // In the child of a fork: lets go without calling the driver.
    void forget();

  private:
    struct Link {
        std::string name;
        std::shared_ptr<Device> device;
        std::unique_ptr<Relay> relay;  // null where it is of no use
        std::size_t from_bytes = 0;
        double seconds_per_byte = 0;
        std::string why_not;
        std::size_t taken_bytes = 0;               // by copies that have ended
        std::vector<std::unique_ptr<Relay>> lost;  // kept: copies may still refer to it
    };
    void prepare();
    // Whether others use its link, now and then; and of a copy that is waited for whether it answers at all.
    Status ask(Relay& relay, bool is_waited) const;
    // Asks of one that is due, the longest ago: several at once would find the host's memory busy.
    void look_at_one(std::vector<Relay*>& relays);
    static std::size_t unshared(const std::vector<Relay*>& relays);
    // Without those that would bring nothing, as the host's memory carries no more.
    void leave_to_owners(std::vector<Relay*>& relays, std::size_t bytes) const;
    // Learns of the copy that was queued last and is to be timed, if it has ended.
    void take_queue_times();

    const std::shared_ptr<Neighbours> neighbours_;
    const std::shared_ptr<Device> own_;
    const bool to_device_;
    const double own_seconds_per_byte_;
    const std::vector<LinkRule> rules_;
    std::mutex mutex_;  // guards all below
    bool is_prepared_ = false, is_used_ = false;
    std::size_t own_taken_bytes_ = 0;
    std::vector<Link> links_;
    Pace own_pace_;  // for the one copy that uses the links
    Ceiling ceiling_;
    // A copy that was queued: it has begun, the own link's part has ended, and all of it has.
    struct Queued {
        std::unique_ptr<Event> begun, own_ended, ended;
        std::size_t bytes = 0, own_bytes = 0, links = 0;  // 0 where no time is to be taken
    };
    Queued queued_;
};

}  // namespace isthmus
