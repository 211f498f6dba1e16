// Copies of many pieces in one call of the CUDA driver: 2-D and 3-D sections, batches and graphs.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "backend/cuda/context.hpp"
#include "backend/device.hpp"

namespace isthmus::cuda {

// As the functions of Device of the same names.
Status copy_section(const PrimaryContext& context, Stream stream, const Layout& destination, const Layout& source,
                    const Extent& extent);
std::optional<std::string> why_no_batch(const Api& cu);
std::optional<std::string> why_no_graph(const Api& cu);
Result<std::unique_ptr<PreparedCopies>> prepare_batch(const std::shared_ptr<PrimaryContext>& context,
                                                      const Layout& destination, const Layout& source,
                                                      const Extent& extent);

// Records what `enqueue` puts on `stream` as a graph, without running it.
Result<std::unique_ptr<PreparedCopies>> record_graph(const std::shared_ptr<PrimaryContext>& context, Stream stream,
                                                     const std::function<Status()>& enqueue);

}  // namespace isthmus::cuda
