// Pieces moved by kernels: over the link, or packed on the device for one copy.
#pragma once

#include <memory>
#include <utility>

#include "backend/layout.hpp"
#include "backend/memory_kind.hpp"
#include "transfer/pieces/piece_copy.hpp"

namespace isthmus {

// All units of the pieces, of the size that both layouts allow.
Units units_of(const Layout& destination, const Layout& source, const Extent& extent);

class KernelCopy final : public PieceCopy {
  public:
    KernelCopy(const Layout& destination, const Layout& source, const Extent& extent, std::shared_ptr<Staging> staging)
        : PieceCopy(destination, source, extent, std::move(staging)), units_(units_of(destination, source, extent)) {}
    static Status check(Device& device, MemoryKind host_kind);

  protected:
    Status start() override;

  private:
    Units units_;
};

class DevicePack final : public PieceCopy {
  public:
    DevicePack(const Layout& destination, const Layout& source, const Extent& extent, std::shared_ptr<Staging> staging);
    static Status check(const Layout& host_side, const Layout& device_side, const Extent& extent);

  protected:
    Status start() override;

  private:
    Layout packed_;
    Units units_;
};

}  // namespace isthmus
