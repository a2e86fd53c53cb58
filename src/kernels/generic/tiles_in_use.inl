// Matrix tiles while a kernel uses them.
#pragma once

#include "kernels/kernels.h"

namespace octavo {
namespace {

/// Tiles that are configured while it lives. Nothing is called meanwhile: other code may not meet them, and the system
/// saves 8 KiB more at each switch from this thread.
class TilesInUse {
 public:
  OCTAVO_KERNEL_PART explicit TilesInUse(const TileConfig& config) { tiles_configure(config); }
  OCTAVO_KERNEL_PART ~TilesInUse() { tiles_release(); }
  TilesInUse(const TilesInUse&) = delete;
  TilesInUse& operator=(const TilesInUse&) = delete;
};

}  // namespace
}  // namespace octavo
