// A constraint for a caller who draws tokens without the engine, and its state behind the tokens of the last call.
//
// A handle stands for it; any thread, one at a time inside.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include "capi/handles.h"
#include "capi/loaded_model.h"
#include "constraint/constraint_state.h"

namespace octavo::capi {

class ConstraintMask final : public Handled {
 public:
  /// Errors: no such kind; a source that cannot be compiled; no vocabulary.
  static CallResult<std::shared_ptr<ConstraintMask>> compile(std::shared_ptr<LoadedModel> model, std::string_view kind,
                                                             std::string_view text);
  /// Does what octavo_mask() says.
  CallResult<void> allow(std::span<const TokenId> tokens, std::span<std::uint32_t> words);
  void close() override {}

 private:
  ConstraintMask(std::shared_ptr<LoadedModel> model, std::shared_ptr<const CompiledConstraint> constraint);
  CallResult<void> move_behind(std::span<const TokenId> tokens);

  const std::shared_ptr<LoadedModel> model_;
  const std::shared_ptr<const CompiledConstraint> constraint_;
  std::mutex mutex_;
  ConstraintState state_;
  std::vector<TokenId> tokens_;  // the tokens behind which the state stands
};

}  // namespace octavo::capi
