// Pieces moved by calls of the driver alone.
#pragma once

#include "backend/device.hpp"
#include "transfer/pieces/piece_copy.hpp"

namespace isthmus {

class SeparateCopies final : public PieceCopy {
  public:
    SeparateCopies(const Layout& destination, const Layout& source, const Extent& extent,
                   std::shared_ptr<Staging> staging, bool waits)
        : PieceCopy(destination, source, extent, std::move(staging)), waits_(waits) {}

  protected:
    Status start() override;

  private:
    bool waits_;
};

class PreparedPieceCopies final : public PieceCopy {
  public:
    PreparedPieceCopies(const Layout& destination, const Layout& source, const Extent& extent,
                        std::shared_ptr<Staging> staging, std::unique_ptr<PreparedCopies> prepared)
        : PieceCopy(destination, source, extent, std::move(staging)), prepared_(std::move(prepared)) {}

  protected:
    Status start() override { return prepared_->enqueue(staging_->stream()); }

  private:
    std::unique_ptr<PreparedCopies> prepared_;
};

class SectionCopy final : public PieceCopy {
  public:
    using PieceCopy::PieceCopy;

  protected:
    Status start() override { return device().copy_section(staging_->stream(), destination_, source_, extent_); }
};

class WholeCopy final : public PieceCopy {
  public:
    using PieceCopy::PieceCopy;
    // Why it would not do; nothing when both sides have one layout.
    static Status check(const Layout& destination, const Layout& source, const Extent& extent);
    std::size_t bytes_moved() const override { return source_.span_bytes(extent_); }

  protected:
    Status start() override;
};

}  // namespace isthmus
