// The links of one direction next to the device's own link.
#include "transfer/links/links.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

#include "backend/device.hpp"
#include "backend/device_info.hpp"
#include "base/fork.hpp"
#include "transfer/links/parts.hpp"

namespace isthmus {
namespace {

constexpr std::size_t mib = std::size_t{1} << 20;
// Without a measurement: smaller copies end before a second link has begun.
constexpr std::size_t default_from_bytes = 8 * mib;
constexpr double default_bytes_per_second = 50e9;
// The devices of one host are fewer.
constexpr int most_devices = 64;
constexpr std::size_t most_chunk_bytes = 8 * mib;
// A stream's queue holds about a thousand commands, of which a chunk takes three of each of two streams.
constexpr std::size_t most_queued_chunks = 128;
// The own link is never left to others, however late it is.
constexpr double never_shared = std::numeric_limits<double>::max();
// Later than this is what the host's memory makes of links, and not chance.
constexpr double reached_lateness = 1.08;

// How many lanes of the first generation carry as much; nothing where the driver does not say.
std::optional<double> capacity(Device& device) {
    const LinkReading link = device.read_link();
    if (!link.max_generation || !link.max_width) return std::nullopt;
    return static_cast<double>(1U << std::min(*link.max_generation, 16U)) * *link.max_width;
}

// The neighbour's link, in units of the own one.
double slowness(Device& own, Device& neighbour) {
    const auto mine = capacity(own);
    const auto others = capacity(neighbour);
    return mine && others && *others > 0 ? std::max(1.0, *mine / *others) : 1.0;
}

std::string failed(const Status& why) {
    return "it failed: " + why.message();
}

// How many times as long as alone a relay may take before others are at work on its link: where the host's memory is
// busy, the own link is late, too, the more so the more links carry. A link that others use by half takes twice as
// long.
double most_times_of(const Pace& own, std::size_t relays) {
    const double most_lateness = relays > 1 ? 1.9 : 1.6;
    return Relay::most_times_alone * std::min(own.latest(), most_lateness);
}

}  // namespace

const std::vector<Neighbours::Found>& Neighbours::found() {
    std::call_once(once_, [this] {
        if (paths_.is_own()) return;
        for (const int index : paths_.devices) found_.push_back(open(index));
        for (int index = 0; paths_.all && index < most_devices; ++index) {
            if (index == own_->info().index) continue;
            Found next = open(index);
            const bool is_last = next.device == nullptr && !own_->open_other(index).ok();
            if (is_last) break;
            found_.push_back(std::move(next));
        }
    });
    return found_;
}

Neighbours::Found Neighbours::open(int index) const {
    Found next;
    next.name = own_->info().backend + ":" + std::to_string(index);
    auto opened = own_->open_other(index);
    if (!opened.ok()) {
        next.why_not = opened.take_status().message();
    } else if (auto why = own_->why_no_peer(*opened.value())) {
        next.why_not = *why;
    } else if (auto unreached = own_->why_no_peer_reach(*opened.value())) {
        next.why_not = *unreached;
    } else {
        next.device = std::move(opened.value());
    }
    return next;
}

void Neighbours::forget() {
    keep_for_good(std::move(found_));
}

Links::Links(std::shared_ptr<Neighbours> neighbours, std::shared_ptr<Device> own, bool to_device,
             double own_bytes_per_second, std::vector<LinkRule> rules)
    : neighbours_(std::move(neighbours)),
      own_(std::move(own)),
      to_device_(to_device),
      own_seconds_per_byte_(1 / (own_bytes_per_second > 0 ? own_bytes_per_second : default_bytes_per_second)),
      rules_(std::move(rules)),
      own_pace_(own_seconds_per_byte_) {}

void Links::prepare() {
    if (is_prepared_) return;
    is_prepared_ = true;
    for (const Neighbours::Found& neighbour : neighbours_->found()) {
        Link link;
        link.name = neighbour.name;
        link.device = neighbour.device;
        link.from_bytes = default_from_bytes;
        link.seconds_per_byte = own_seconds_per_byte_;
        link.why_not = neighbour.why_not;
        if (neighbour.device != nullptr) {
            link.seconds_per_byte *= slowness(*own_, *neighbour.device);
            for (const LinkRule& rule : rules_) {
                if (rule.to_device != to_device_ || rule.pci_address != neighbour.device->info().pci_address) continue;
                link.from_bytes = rule.from_bytes;
                link.seconds_per_byte = rule.seconds / static_cast<double>(rule.bytes);
                if (!rule.gains) link.why_not = "it gained nothing when this machine was calibrated";
            }
            if (link.why_not.empty()) {
                link.relay = std::make_unique<Relay>(own_, neighbour.device, to_device_, link.seconds_per_byte);
            }
        }
        links_.push_back(std::move(link));
    }
}

std::size_t Links::chunk_bytes(std::size_t bytes) {
    return std::clamp(bytes / 16 / mib * mib, mib, most_chunk_bytes);
}

std::size_t Links::waited_chunk_bytes(std::size_t bytes) const {
    // Each is some calls of the driver: the fewer, the better, down to one for each of two links. More links end
    // together only with several for each.
    const auto is_of_use = [](const Neighbours::Found& each) { return each.device != nullptr; };
    if (std::ranges::count_if(neighbours_->found(), is_of_use) > 1) return chunk_bytes(bytes);
    return std::clamp(bytes / 2 / mib * mib, mib, most_chunk_bytes);
}

std::optional<Links::Use> Links::use(std::size_t bytes, std::size_t chunk_bytes, Stream* stream) {
    if (neighbours_->is_own()) return std::nullopt;
    const std::lock_guard lock(mutex_);
    if (is_used_) return std::nullopt;
    prepare();
    take_queue_times();
    std::vector<Relay*> relays;
    const std::size_t most_chunks = std::min(bytes / chunk_bytes, most_queued_chunks);
    for (Link& link : links_) {
        if (link.relay == nullptr || bytes < link.from_bytes || !link.relay->is_free_for(stream, most_chunks)) continue;
        const Status prepared = link.relay->prepare();
        // A copy that is queued is not waited for here.
        const Status asked = prepared.ok() ? ask(*link.relay, stream == nullptr) : Status();
        if (!prepared.ok() || !asked.ok()) {
            link.why_not = prepared.ok() ? failed(asked) : prepared.message();
            link.relay.reset();
            continue;
        }
        link.relay->begin(chunk_bytes);
        relays.push_back(link.relay.get());
    }
    look_at_one(relays);
    leave_to_owners(relays, bytes);
    if (relays.empty()) return std::nullopt;
    is_used_ = true;
    return Use(*this, std::move(relays));
}

Status Links::ask(Relay& relay, bool is_waited) const {
    const auto is_of_use = [](const Link& link) { return link.relay != nullptr; };
    const auto relays = static_cast<std::size_t>(std::ranges::count_if(links_, is_of_use));
    if (const auto is_free = relay.is_free(most_times_of(own_pace_, relays))) relay.pace().looked(*is_free);
    return is_waited && !relay.pace().is_shared() ? relay.ask() : Status();
}

void Links::look_at_one(std::vector<Relay*>& relays) {
    Relay* next = nullptr;
    for (Relay* const relay : relays) {
        if (relay->may_soon_answer_look()) return;
        if (!relay->pace().is_due()) continue;
        if (next == nullptr || relay->looked_at() < next->looked_at()) next = relay;
    }
    if (next == nullptr) return;
    const Status begun = next->look();
    if (begun.ok()) return;
    std::erase(relays, next);
    for (Link& link : links_) {
        if (link.relay.get() != next) continue;
        link.why_not = failed(begun);
        link.relay.reset();
    }
}

Links::Use::~Use() {
    if (owner_ == nullptr) return;
    for (Relay* const relay : relays_) relay->release();
    const std::lock_guard lock(owner_->mutex_);
    for (Link& link : owner_->links_) {
        if (link.relay != nullptr) link.taken_bytes += link.relay->take_carried();
    }
    owner_->own_taken_bytes_ += own_bytes_;
    owner_->is_used_ = false;
}

Relay* Links::Use::taker(std::size_t chunk_bytes, std::size_t left_bytes, std::size_t own_bytes) {
    double rate = own_.bytes_per_second();
    std::size_t to_come = left_bytes + own_bytes;
    for (Relay* const relay : relays_) {
        to_come += relay->under_way() * chunk_bytes;
        if (!relay->pace().is_shared()) rate += relay->pace().bytes_per_second();
    }
    // When all would have arrived if all links ended together, and a little more.
    const double end = static_cast<double>(to_come) / rate + own_.seconds(chunk_bytes) / 2;
    Relay* best = nullptr;
    double earliest = end;
    for (Relay* const relay : relays_) {
        if (relay->pace().is_shared() || !relay->has_slot() || !relay->answers()) continue;
        const double seconds =
            relay->pace().seconds((relay->under_way() + 1) * chunk_bytes) + Pace::idle_latency_seconds;
        if (seconds > earliest) continue;
        earliest = seconds;
        best = relay;
    }
    return best;
}

bool Links::Use::may_soon_take() const {
    return std::ranges::any_of(relays_, [](const Relay* relay) { return relay->may_soon_answer(); });
}

void Links::Use::own_took(std::size_t bytes) {
    own_bytes_ += bytes;
    for (Relay* const relay : relays_) relay->pace().pass();
}

void Links::Use::own_arrives(std::size_t bytes, TimePoint sent, bool was_idle) {
    own_.arrives(bytes, sent, was_idle, never_shared);
}

double Links::Use::most_times() const {
    return most_times_of(own_, relays_.size());
}

void Links::Use::ended(std::size_t bytes, double seconds) {
    owner_->ceiling_.moved(bytes, links_, seconds);
}

void Links::Use::begin_queue(Stream& stream) {
    Queued& queued = owner_->queued_;
    if (queued.bytes != 0) return;
    for (std::unique_ptr<Event>* event : {&queued.begun, &queued.own_ended, &queued.ended}) {
        if (*event != nullptr) continue;
        auto made = owner_->own_->create_event();
        if (!made.ok()) return;
        *event = std::move(made.value());
    }
    (void)owner_->own_->record(*queued.begun, stream);
}

void Links::Use::end_own_queue(Stream& stream) {
    const Queued& queued = owner_->queued_;
    if (queued.bytes == 0 && queued.ended != nullptr) (void)owner_->own_->record(*queued.own_ended, stream);
}

void Links::Use::end_queue(Stream& stream, std::size_t bytes, std::size_t own_bytes) {
    Queued& queued = owner_->queued_;
    if (queued.bytes != 0 || queued.ended == nullptr || own_bytes == 0) return;
    if (!owner_->own_->record(*queued.ended, stream).ok()) return;
    queued.bytes = bytes;
    queued.own_bytes = own_bytes;
    queued.links = links_;
}

void Links::take_queue_times() {
    if (queued_.bytes == 0) return;
    auto passed = own_->has_passed(*queued_.ended);
    if (passed.ok() && !passed.value()) return;
    const std::size_t bytes = std::exchange(queued_.bytes, 0);
    if (!passed.ok()) return;
    auto own_seconds = own_->seconds_between(*queued_.begun, *queued_.own_ended);
    if (!own_seconds.ok() || own_seconds.value() <= 0) return;
    own_pace_.arrived(queued_.own_bytes, own_seconds.value(), false, never_shared);
    auto seconds = own_->seconds_between(*queued_.begun, *queued_.ended);
    if (seconds.ok()) ceiling_.moved(bytes, queued_.links, seconds.value());
}

std::size_t Links::unshared(const std::vector<Relay*>& relays) {
    const auto is_free = [](Relay* relay) { return !relay->pace().is_shared(); };
    return static_cast<std::size_t>(std::ranges::count_if(relays, is_free));
}

void Links::leave_to_owners(std::vector<Relay*>& relays, std::size_t bytes) const {
    const std::size_t all = 1 + unshared(relays);
    std::size_t most = ceiling_.links(bytes, all, own_pace_.lateness() > reached_lateness) - 1;
    // The fastest stay, and those that others use, which take none.
    std::ranges::stable_sort(relays, std::greater(), [](Relay* relay) { return relay->pace().bytes_per_second(); });
    std::erase_if(relays, [&](Relay* relay) {
        if (relay->pace().is_shared()) return false;
        const bool is_beyond = most == 0;
        most -= is_beyond ? 0 : 1;
        return is_beyond;
    });
}

std::vector<std::size_t> Links::Use::divide(std::size_t bytes, std::size_t chunk_bytes) {
    std::vector<double> rates;
    for (Relay* const relay : relays_) {
        relay->take_time(most_times());
        rates.push_back(relay->pace().is_shared() ? 0 : relay->pace().bytes_per_second());
    }
    std::vector<std::size_t> parts =
        parts_that_end_together(bytes, own_.bytes_per_second(), rates, Pace::idle_latency_seconds, chunk_bytes);
    for (std::size_t i = 0; i < parts.size(); ++i) {
        parts[i] = std::min(parts[i], most_queued_chunks * chunk_bytes);
        if (parts[i] != 0 && !relays_[i]->reserve()) parts[i] = 0;
        if (parts[i] == 0) relays_[i]->pace().pass(bytes / chunk_bytes);
    }
    return parts;
}

void Links::Use::lose(Relay& relay, const Status& why) {
    std::erase(relays_, &relay);
    const std::lock_guard lock(owner_->mutex_);
    for (Link& link : owner_->links_) {
        if (link.relay.get() != &relay) continue;
        link.why_not = failed(why);
        link.taken_bytes += relay.take_carried();
        link.lost.push_back(std::move(link.relay));
    }
}

Links::Shares Links::shares(std::size_t bytes) {
    Shares shares;
    if (neighbours_->is_own()) return shares;
    const std::lock_guard lock(mutex_);
    prepare();
    double rate = 1 / own_seconds_per_byte_;
    const double own_rate = rate;
    for (const Link& link : links_) {
        std::string not_used = link.why_not;
        if (not_used.empty() && bytes < link.from_bytes) {
            not_used = "it gains from " + std::to_string(link.from_bytes) + " bytes on";
        }
        if (not_used.empty()) {
            const double its = 1 / link.seconds_per_byte;
            shares.of_neighbours.emplace_back(link.name, its);
            rate += its;
        } else {
            shares.not_used.push_back(link.name + " is not used: " + not_used);
        }
    }
    if (links_.empty()) shares.not_used.emplace_back("there is no other device to go by");
    for (auto& [name, share] : shares.of_neighbours) share /= rate;
    shares.own = own_rate / rate;
    return shares;
}

Links::Taken Links::taken() {
    const std::lock_guard lock(mutex_);
    Taken taken{own_taken_bytes_, {}};
    for (const Link& link : links_) {
        if (link.device != nullptr) taken.of_neighbours.emplace_back(link.name, link.taken_bytes);
    }
    return taken;
}

bool Links::divides(std::size_t bytes) {
    if (neighbours_->is_own()) return false;
    const std::lock_guard lock(mutex_);
    prepare();
    return std::ranges::any_of(links_, [bytes](const Link& link) { return link.relay && bytes >= link.from_bytes; });
}

void Links::trim() {
    const std::lock_guard lock(mutex_);
    if (is_used_) return;
    for (Link& link : links_) {
        if (link.relay == nullptr || !link.relay->answers() || !link.relay->is_free_for(nullptr, 0)) continue;
        // What asks of it may not end while a program holds its streams, and giving its memory back would wait for
        // that.
        if (!ask(*link.relay, false).ok() || link.relay->has_look_under_way()) continue;
        link.relay = std::make_unique<Relay>(own_, link.device, to_device_, link.seconds_per_byte);
    }
}

void Links::forget() {
    for (Link& link : links_) {
        if (link.relay != nullptr) link.relay->forget();
        for (const std::unique_ptr<Relay>& lost : link.lost) lost->forget();
    }
    keep_for_good(std::move(links_));
    for (std::unique_ptr<Event>* event : {&queued_.begun, &queued_.own_ended, &queued_.ended}) {
        keep_for_good(std::move(*event));
    }
}

}  // namespace isthmus
