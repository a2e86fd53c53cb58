// The words of each KvError to a person.
#include "base/error.h"
#include "octavo/kv/types.h"

namespace octavo {
namespace {

struct Describe {
  std::string operator()(const SequenceNotFound& e) const { return fmt::format("sequence {} not found", e.id); }
  std::string operator()(const OutOfMemory& e) const {
    return fmt::format("out of KV memory: attention group {} needs {} blocks, {} are free", e.group, e.blocks_needed,
                       e.blocks_free);
  }
  std::string operator()(const PositionOutOfRange& e) const {
    return fmt::format("position {} of sequence {} holds nothing or is out of range", e.position, e.id);
  }
  std::string operator()(const DimMismatch& e) const {
    return fmt::format("wrong length: found {} elements, expected {}", e.actual, e.expected);
  }
  std::string operator()(const LayerOutOfRange& e) const {
    return fmt::format("layer {} out of range, the cache has {}", e.layer, e.num_layers);
  }
  std::string operator()(const BorrowedLayer& e) const {
    return fmt::format("layer {} has no keys and values of its own, it reads those of layer {}", e.layer, e.lender);
  }
  std::string operator()(const BlockOutOfRange& e) const {
    return fmt::format("block {} out of range, the pool has {}", e.block, e.capacity);
  }
  std::string operator()(const BlockNotInUse& e) const { return fmt::format("block {} is not in use", e.block); }
  std::string operator()(const WrongElementType& e) const {
    return fmt::format("wrong element type: found {}, expected {}", kv_type_name(e.actual), kv_type_name(e.expected));
  }
  std::string operator()(const MemoryRefused& e) const {
    return fmt::format("the system has no memory for keys and values of {} tokens", e.tokens);
  }
};

}  // namespace

std::string describe(const KvError& error) { return std::visit(Describe{}, error); }

}  // namespace octavo
