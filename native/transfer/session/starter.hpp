// Begins copies that nothing waits for: commands on the caller's stream, which waits where threads have to move memory.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "transfer/session/async_copy.hpp"
#include "transfer/session/mover.hpp"
#include "transfer/session/order.hpp"
#include "transfer/staging/background.hpp"
#include "transfer/staging/held_copy.hpp"
#include "transfer/staging/ring_pool.hpp"

namespace isthmus {

class RowLaunch;

// A stream's queue holds about a thousand; when it is full, the caller that gives it more waits for the device.
inline constexpr std::size_t most_commands = 128;

// In how many parts of no more than so many bytes each a stream is given a copy.
inline std::size_t parts_of(std::size_t bytes, std::size_t most_bytes) {
    return std::min((bytes + most_bytes - 1) / most_bytes, most_commands);
}

// May be used by any number of threads at once; the device is current for each. What it is given outlives it.
class Starter {
  public:
    Starter(std::shared_ptr<Device> device, std::size_t threads, const KernelBlocks& blocks, Chooser& chooser,
            Mover& mover, StreamPool& streams, std::array<StagingLane, 2>& lanes, std::array<Links, 2>& links,
            const std::array<std::shared_ptr<RingPool>, 2>& rings);

    // A job, and how it goes.
    struct Task {
        std::shared_ptr<CopyJob> job;
        Choice choice;
    };
    // `keep` is let go when the copy has ended; `session` later, when nothing here is at work on it any more.
    Result<std::shared_ptr<CopyHandle>> begin(const std::vector<std::shared_ptr<CopyJob>>& jobs, Order& order,
                                              std::shared_ptr<const void> keep, std::shared_ptr<const void> session);
    Result<std::shared_ptr<CopyHandle>> begin(std::shared_ptr<RowLaunch> rows, Order& order,
                                              std::shared_ptr<const void> keep, std::shared_ptr<const void> session);
    // Puts a copy on the stream, and what of it goes by other devices; the own link's part as copies of no more than so
    // many bytes each.
    Status enqueue_divided(Stream& stream, Links::Use& links, const Region& destination, const Region& source,
                           std::size_t most_bytes);

    // Ends the threads. Precondition: every copy has ended.
    void stop();
    // Gives the rest back, after stop(): the first failure of a copy that was not waited for.
    Status close();
    // In the child of a fork: lets go without calling the driver.
    void forget();

  private:
    struct Pending;
    Result<std::shared_ptr<CopyHandle>> begin(const std::shared_ptr<Pending>& pending, Order& order);
    // How many commands of a stream it is; 0 where it is more than commands. Whether a stream can hold those of all
    // tasks, and puts one's there.
    std::size_t commands_of(const Task& task) const;
    bool can_enqueue(const std::vector<Task>& tasks) const;
    Status enqueue(Stream& stream, const Task& task);
    // By commands on a stream alone, which leaves it to begin_held() where the device cannot do them by few; or by
    // commands that wait for threads.
    Status begin_on_stream(Stream& stream, Pending& pending);
    Status begin_held(Stream& stream, Pending& pending);
    // Makes what `stream` is given from now on begin after what the other device's stream holds.
    Status follow(Stream& stream, Device& other, Stream& others);
    // Such a copy of all tasks. For want of page-locked memory by the driver's own copies, which may take the caller's
    // time.
    Result<std::shared_ptr<HeldCopy>> held_copy(const std::vector<Task>& tasks);
    std::shared_ptr<HeldCopy> held_rows(std::shared_ptr<RowLaunch> rows);
    Result<std::shared_ptr<HeldCopy>> without_ring(const std::vector<Task>& tasks, Status why);
    Result<std::unique_ptr<Rendezvous>> rendezvous();
    // How a task takes part in it: by commands alone, by a kernel that is given offsets, through the ring, or by the
    // host alone.
    enum class Share { commands, tabled, packed, host };
    Share share_of(const Task& task) const;
    Status enqueue_plain(Stream& stream, const CopyJob& job);
    Status enqueue_parts(Stream& stream, const Region& destination, const Region& source, std::size_t most_bytes);
    Result<Stream*> own_stream();

    // A thread that moves memory for held copies, and others that help it with large ones. None of them calls the
    // driver.
    struct Packer {
        Background thread{std::chrono::microseconds(50)};
        std::unique_ptr<WorkerGroup> group;

        // In the child of a fork: never freed, as there are no threads.
        void forget() {
            thread.forget();
            static_cast<void>(group.release());
        }
    };
    // Small copies have threads of their own, so that none of them waits for a large one.
    Result<Packer*> packer(bool to_device, bool large);
    bool watch(Pending& pending);

    const std::shared_ptr<Device> device_;
    const std::size_t threads_;
    const KernelBlocks blocks_;
    Chooser& chooser_;
    Mover& mover_;
    StreamPool& streams_;
    std::array<StagingLane, 2>& lanes_;
    std::array<Links, 2>& links_;  // by direction, as the lanes and rings
    const std::array<std::shared_ptr<RingPool>, 2>& rings_;
    std::array<Packer, 4> packers_;
    // Sees when copies have ended, and lets go of what they kept, which may take the caller's locks and the driver's.
    Background watcher_{std::chrono::microseconds(500)};
    std::mutex mutex_;                    // guards what follows, and the start of groups
    std::unique_ptr<Stream> own_stream_;  // of asynchronous commands that have none of the caller's
    // How many failures are remembered until the session is closed; there is room for them from the beginning.
    static constexpr std::size_t most_failed = 16;
    std::vector<std::shared_ptr<AsyncCopy>> failed_;
};

}  // namespace isthmus
