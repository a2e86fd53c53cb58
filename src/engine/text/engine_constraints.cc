#include "engine/text/engine_constraints.h"

#include "engine/text/constraint_words.h"

namespace octavo {

Result<std::shared_ptr<const CompiledConstraint>> EngineConstraints::compile(const ConstraintSource& source,
                                                                             const std::stop_token& stop) {
  OCTAVO_TRY_VOID(words_.require());
  std::call_once(begun_, [this] {
    compiler_ = std::make_unique<ConstraintCompiler>(constraint_vocabulary(words_, num_drawable_),
                                                     constraint_token_names(words_, num_drawable_), memory_);
    vocabulary_ = compiler_->vocabulary().get();
  });
  return compiler_->compile(source, stop);
}

Result<void> EngineConstraints::check(const Constraint* constraint) const {
  if (constraint == nullptr) return {};
  const auto* compiled = dynamic_cast<const CompiledConstraint*>(constraint);
  const bool is_own = compiled != nullptr && compiled->vocabulary().get() == vocabulary_;
  if (!is_own) return fail("constraint: found one of another engine, expected one of this engine's");
  return {};
}

}  // namespace octavo
