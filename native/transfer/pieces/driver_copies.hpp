// Pieces moved by calls of the driver alone.
#pragma once

#include <memory>
#include <utility>

#include "transfer/pieces/piece_copy.hpp"

namespace isthmus {

class PreparedCopies;  // backend/device.hpp

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
                        std::shared_ptr<Staging> staging, std::unique_ptr<PreparedCopies> prepared);
    ~PreparedPieceCopies() override;

  protected:
    Status start() override;

  private:
    std::unique_ptr<PreparedCopies> prepared_;
};

class SectionCopy final : public PieceCopy {
  public:
    using PieceCopy::PieceCopy;

  protected:
    Status start() override;
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
