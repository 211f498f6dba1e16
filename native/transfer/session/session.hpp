// Copies for callers: from and to any memory, chosen by table, in the order of the caller's streams.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "transfer/copy/array_view.hpp"
#include "transfer/copy/batch.hpp"
#include "transfer/copy/outcome.hpp"
#include "transfer/pieces/ring_plan.hpp"
#include "transfer/rows/row_copy.hpp"
#include "transfer/table/transfer_table.hpp"

namespace isthmus {

class Device;
struct FileRange;
class PinnedBlock;
class PinnedRange;

struct SessionOptions {
    // The most page-locked memory for all that this session does; it is allocated when it is first needed, and kept.
    // Else the default, which is twice as much for several links.
    std::optional<std::size_t> pinned_budget_bytes;
    std::size_t threads = 0;          // the most that pack; 0 for as many as the table says and the process may use
    std::uint32_t kernel_blocks = 0;  // the most of a kernel that copies; 0 for as many as the table says
    // By which other devices copies may go, too: large ones are divided between those links and the own link.
    std::string paths;  // as Paths::parse
    // Whether a copy without a stream comes behind what the default stream holds; else it begins at once, for callers
    // who have waited for what it has to come behind.
    bool follows_default_stream = true;
    // Whether pageable memory may be protected or cut off, as that of programs who handle their faults: copies fail
    // where an access would raise a signal, perhaps when some of it has been copied. Not those that are waited for
    // later.
    bool checks_memory = false;
    std::optional<TransferTable> table;  // else the machine's, if it was calibrated, else the built-in one
};

// How a copy would be made, and why.
struct Explanation {
    std::string
        method;  // "driver", "direct", "staged", "device", "peer", "host", "nothing", or a name of a PieceMethod
    std::string direction;    // "h2d", "d2h", "d2d", "h2h"
    std::string host_memory;  // "pageable", "pinned", "managed"; empty without a host's side
    std::size_t bytes = 0, pieces = 1, width_bytes = 0;
    std::size_t chunk_bytes = 0, threads = 0;
    // The most blocks, of 1,024 threads, that one launch of a kernel that copies has. 0 without kernels, and where they
    // may fill the device.
    std::uint32_t kernel_blocks = 0;
    std::optional<Stores> stores;  // of threads that pack
    double seconds = 0;            // expected; 0 where the table cannot say
    std::string why;               // a sentence
    // Where it is divided between several links: what each takes of it, "cuda:0" being the own link's.
    std::vector<std::pair<std::string, double>> links;

    // Where there is nothing to copy.
    static Explanation nothing(const char* why);
};

// Hears that a copy has ended.
class CopyListener {
  public:
    virtual ~CopyListener() = default;
    // Once, on whichever thread finds out; no lock is held. Must not wait.
    virtual void copy_ended() noexcept = 0;
};

// A copy that was begun. May outlive its session's last handle; keeps alive what it needs.
class CopyHandle {
  public:
    virtual ~CopyHandle() = default;
    virtual bool done() = 0;
    // Returns when it has ended. The outcome stays.
    virtual const Outcome& wait() = 0;
    // What the stream is given from now on begins after it has ended. Fails with unsupported where streams cannot wait.
    virtual Status hold(std::uintptr_t stream) = 0;
    // Tells the listener when it has ended, soon and without anybody asking; at once where that is known.
    virtual void tell(std::shared_ptr<CopyListener> listener) = 0;
};

// Which side memory is on, where the caller knows; where not, the driver is asked.
struct Sides {
    std::optional<Side> destination, source;
};

// May be used by any number of threads at once. Each of its calls makes the device current for the thread, and again
// what was current before.
class Session : public std::enable_shared_from_this<Session> {
  public:
    // Costs no page-locked memory and starts no threads yet.
    static Result<std::shared_ptr<Session>> open(std::shared_ptr<Device> device, SessionOptions options = {});
    virtual ~Session() = default;

    // Begins after what `stream` holds, and returns when all has arrived. Without a stream: after what the default
    // stream holds, as the driver's own synchronous copy does (CUDA), or at once (SessionOptions).
    virtual Outcome copy(const ArrayView& destination, const ArrayView& source,
                         std::optional<std::uintptr_t> stream) = 0;
    // The same of one piece that is contiguous on both sides, with the least that it can cost: what small copies call.
    virtual Outcome copy_bytes(const BatchPiece& piece, Sides sides, std::optional<std::uintptr_t> stream) = 0;
    // All pieces go in one direction; `sides` are those of all of them.
    virtual Outcome copy_batch(const Batch& batch, Sides sides, std::optional<std::uintptr_t> stream) = 0;
    // Bytes of a file to an array without gaps, as many as it has. Reads with the calling thread where the destination
    // is on the host. The file is kept open by the caller. Fails with call_failed where it ends before, and where the
    // system cannot read it.
    virtual Outcome copy_from_file(const ArrayView& destination, const FileRange& file,
                                   std::optional<std::uintptr_t> stream) = 0;
    // The same of arrays without waiting; never waits for the device. What `stream` is given afterwards begins when the
    // copy has ended. `keep` is let go when it has, on any thread.
    virtual Result<std::shared_ptr<CopyHandle>> copy_async(const ArrayView& destination, const ArrayView& source,
                                                           std::optional<std::uintptr_t> stream,
                                                           std::shared_ptr<const void> keep) = 0;
    virtual Result<std::shared_ptr<CopyHandle>> copy_batch_async(const Batch& batch, Sides sides,
                                                                 std::optional<std::uintptr_t> stream,
                                                                 std::shared_ptr<const void> keep) = 0;
    // Puts a copy between page-locked memory and the device on the stream, divided over several links, keeps nothing of
    // it and never waits for the device. False where those links are not of use now: then nothing was put there. After
    // a failure the same copy on the same stream makes good whatever was.
    virtual Result<bool> enqueue_divided(const BatchPiece& piece, Sides sides, std::uintptr_t stream) = 0;
    // Rows that lists name. Lists of the host are read before the call returns, those of the device in the order of the
    // stream: what is wrong with these is said when the copy has ended, and then nothing was copied.
    virtual Outcome copy_rows(const RowCopy& copy, std::optional<std::uintptr_t> stream) = 0;
    virtual Result<std::shared_ptr<CopyHandle>> copy_rows_async(const RowCopy& copy,
                                                                std::optional<std::uintptr_t> stream,
                                                                std::shared_ptr<const void> keep) = 0;
    virtual Result<Explanation> explain(const ArrayView& destination, const ArrayView& source) = 0;
    virtual Result<Explanation> explain_batch(const Batch& batch, Sides sides) = 0;
    virtual Result<Explanation> explain_rows(const RowCopy& copy) = 0;

    // Page-locked memory for the caller, which is no part of the budget and may outlive the session: see PinnedPool.
    virtual Result<PinnedBlock> pinned(std::size_t bytes) = 0;
    // Page-locks memory of the caller where it is: see PinnedRange::lock.
    virtual Result<PinnedRange> pin(std::uintptr_t address, std::size_t bytes) = 0;
    // What callers have by pinned(), and what is kept for later ones.
    virtual std::size_t pinned_pool_bytes() const = 0;

    // Whether copies have only the device's own link; and whether one of so many bytes of page-locked memory goes
    // several links. The latter opens the other devices the first time.
    virtual bool has_own_link_alone() const = 0;
    virtual bool divides(bool to_device, std::size_t bytes) = 0;

    virtual Device& device() = 0;
    virtual const TransferTable& table() const = 0;
    virtual std::size_t pinned_bytes() const = 0;
    virtual std::size_t pinned_budget_bytes() const = 0;
    virtual bool is_closed() const = 0;
    // The bytes of divided copies that each device's link took, the own one's first. Empty where the session goes by
    // its own link alone.
    virtual std::vector<std::pair<std::string, std::size_t>> links_taken() = 0;
    // Gives page-locked memory back that no copy uses at this moment, and no caller has; who needs some gets it anew.
    virtual Status trim() = 0;
    // Waits for copies that were begun, ends the threads and gives everything back; later calls fail with
    // invalid_argument. Returns the first failure of a copy that was not waited for.
    virtual Status close() = 0;
};

}  // namespace isthmus
