// Copies of many pieces in one call of the CUDA driver: 2-D and 3-D sections, batches and graphs.
#include "backend/cuda/pieces.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "backend/cuda/stream.hpp"

namespace isthmus::cuda {
namespace {

// Unified addresses: what the driver takes for either side where it asks for a plain address.
DevicePointer plain_address(const Allocation& memory, std::size_t offset) {
    if (memory.host() != nullptr) return reinterpret_cast<DevicePointer>(memory.host() + offset);
    return static_cast<const CudaAllocation&>(memory).address() + offset;
}

// One side of a 2-D or 3-D copy, whose members differ in their names alone.
#define ISTHMUS_SET_SIDE(copy, side, layout)                                           \
    do {                                                                               \
        if (is_on_device((layout).allocation->kind())) {                               \
            (copy).side##_type = memory_type_device;                                   \
            (copy).side##_device = address_of({(layout).allocation, (layout).offset}); \
        } else {                                                                       \
            (copy).side##_type = memory_type_host;                                     \
            (copy).side##_host = (layout).allocation->host() + (layout).offset;        \
        }                                                                              \
        (copy).side##_pitch_bytes = (layout).pitch_bytes;                              \
    } while (false)

class Batch final : public PreparedCopies {
  public:
    Batch(std::shared_ptr<PrimaryContext> context, const Layout& destination, const Layout& source,
          const Extent& extent)
        : context_(std::move(context)), sizes_(extent.pieces(), extent.width_bytes) {
        destinations_.reserve(extent.pieces());
        sources_.reserve(extent.pieces());
        for (std::size_t i = 0; i < extent.pieces(); ++i) {
            destinations_.push_back(plain_address(*destination.allocation, destination.at(i, extent)));
            sources_.push_back(plain_address(*source.allocation, source.at(i, extent)));
        }
    }

    Status enqueue(isthmus::Stream& on) override {
        const Api& cu = context_->api();
        const Stream stream = raw(on);
        if (stream == nullptr) return invalid("the driver's batch call takes no null stream: create one for it");
        // Sources are read in the order of the stream: freer orders have been seen to read them too late.
        CopyAttributes attributes{};
        attributes.source_access_order = source_access_order_stream;
        std::size_t first = 0;  // the attributes hold from this copy on
        if (cu.cuMemcpyBatchAsync2) {
            return cu.call(cu.cuMemcpyBatchAsync2, destinations_.data(), sources_.data(), sizes_.data(), sizes_.size(),
                           &attributes, &first, std::size_t{1}, stream);
        }
        constexpr std::size_t none = SIZE_MAX;
        std::size_t failed = none;
        Status status = cu.call(cu.cuMemcpyBatchAsync, destinations_.data(), sources_.data(), sizes_.data(),
                                sizes_.size(), &attributes, &first, std::size_t{1}, &failed, stream);
        return failed == none ? std::move(status) : std::move(status).in("copy " + std::to_string(failed));
    }

  private:
    std::shared_ptr<PrimaryContext> context_;
    // The driver's parameters are not const, though it only reads them.
    std::vector<DevicePointer> destinations_;
    std::vector<DevicePointer> sources_;
    std::vector<std::size_t> sizes_;
};

class RecordedGraph final : public PreparedCopies {
  public:
    RecordedGraph(std::shared_ptr<PrimaryContext> context, GraphExecutable graph)
        : context_(std::move(context)), graph_(graph) {}
    ~RecordedGraph() override {
        const Api& cu = context_->api();
        if (const Current current(*context_); current.ok()) (void)cu.call(cu.cuGraphExecDestroy, graph_);
    }
    Status enqueue(isthmus::Stream& stream) override {
        return context_->api().call(context_->api().cuGraphLaunch, graph_, raw(stream));
    }

  private:
    std::shared_ptr<PrimaryContext> context_;
    GraphExecutable graph_;
};

}  // namespace

Status copy_section(const PrimaryContext& context, Stream stream, const Layout& destination, const Layout& source,
                    const Extent& extent) {
    const Api& cu = context.api();
    ISTHMUS_TRY_ASSIGN(section, section_of(destination, source, extent));
    const std::size_t pitch = std::max(section.source.pitch_bytes, section.destination.pitch_bytes);
    if (pitch > context.most_pitch_bytes()) {
        return unsupported("the driver's 2-D and 3-D copies take pitches of at most " +
                           std::to_string(context.most_pitch_bytes()) + " bytes, not " + std::to_string(pitch));
    }
    if (section.extent.slices == 1) {
        Copy2d copy{};
        ISTHMUS_SET_SIDE(copy, source, section.source);
        ISTHMUS_SET_SIDE(copy, destination, section.destination);
        copy.width_bytes = section.extent.width_bytes;
        copy.height = section.extent.rows;
        return cu.call(cu.cuMemcpy2DAsync, static_cast<const Copy2d*>(&copy), stream);
    }
    Copy3d copy{};
    ISTHMUS_SET_SIDE(copy, source, section.source);
    ISTHMUS_SET_SIDE(copy, destination, section.destination);
    copy.source_height = section.source.slice_pitch_bytes / section.source.pitch_bytes;
    copy.destination_height = section.destination.slice_pitch_bytes / section.destination.pitch_bytes;
    copy.width_bytes = section.extent.width_bytes;
    copy.height = section.extent.rows;
    copy.depth = section.extent.slices;
    return cu.call(cu.cuMemcpy3DAsync, static_cast<const Copy3d*>(&copy), stream);
}

std::optional<std::string> why_no_batch(const Api& cu) {
    if (cu.cuMemcpyBatchAsync2 || cu.cuMemcpyBatchAsync) return std::nullopt;
    return cu.cuMemcpyBatchAsync.absent().message();
}

std::optional<std::string> why_no_graph(const Api& cu) {
    if (cu.cuGraphInstantiateWithFlags) return std::nullopt;
    return cu.cuGraphInstantiateWithFlags.absent().message();
}

Result<std::unique_ptr<PreparedCopies>> prepare_batch(const std::shared_ptr<PrimaryContext>& context,
                                                      const Layout& destination, const Layout& source,
                                                      const Extent& extent) {
    if (auto reason = why_no_batch(context->api())) return unsupported(*reason);
    return std::unique_ptr<PreparedCopies>(std::make_unique<Batch>(context, destination, source, extent));
}

Result<std::unique_ptr<PreparedCopies>> record_graph(const std::shared_ptr<PrimaryContext>& context, Stream stream,
                                                     const std::function<Status()>& enqueue) {
    const Api& cu = context->api();
    if (auto reason = why_no_graph(cu)) return unsupported(*reason);
    // What other threads do meanwhile is neither recorded nor forbidden.
    ISTHMUS_TRY(cu.call(cu.cuStreamBeginCapture, stream, stream_capture_mode_thread_local));
    Status recorded = enqueue();
    Graph graph = nullptr;
    // Also after a failure: the stream would stay in capture.
    Status ended = cu.call(cu.cuStreamEndCapture, stream, &graph);
    GraphExecutable executable = nullptr;
    if (recorded.ok() && ended.ok()) recorded = cu.call(cu.cuGraphInstantiateWithFlags, &executable, graph, 0ULL);
    if (graph != nullptr) (void)cu.call(cu.cuGraphDestroy, graph);
    ISTHMUS_TRY(std::move(recorded));
    ISTHMUS_TRY(std::move(ended));
    return std::unique_ptr<PreparedCopies>(std::make_unique<RecordedGraph>(context, executable));
}

}  // namespace isthmus::cuda
