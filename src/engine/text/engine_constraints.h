// The constraints of an engine's answers. The compiler is made when it is first needed, since its tree of the
// vocabulary takes memory.
//
// Owned by the engine. Any thread may call it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stop_token>

#include "base/error.h"
#include "constraint/constraint_compiler.h"
#include "engine/text/model_tokenizer.h"
#include "octavo/constraint.h"

namespace octavo {

class EngineConstraints {
 public:
  /// The words must outlive it.
  EngineConstraints(const ModelTokenizer& words, int num_drawable) : words_(words), num_drawable_(num_drawable) {}

  /// See ModelText::compile_constraint().
  Result<std::shared_ptr<const CompiledConstraint>> compile(const ConstraintSource& source,
                                                            const std::stop_token& stop);
  /// Checks that a constraint belongs to this engine; null means none, and passes. Error: it is another engine's.
  Result<void> check(const Constraint* constraint) const;
  /// The memory of automata and of masks, both kept ones and those that requests hold.
  std::uint64_t automaton_bytes() const { return memory_->automaton_bytes(); }
  std::uint64_t mask_bytes() const { return memory_->mask_bytes(); }

 private:
  const ModelTokenizer& words_;
  const int num_drawable_;
  const std::shared_ptr<ConstraintMemory> memory_ = std::make_shared<ConstraintMemory>();
  std::once_flag begun_;
  std::unique_ptr<ConstraintCompiler> compiler_;                   // null until it is needed
  std::atomic<const ConstraintVocabulary*> vocabulary_ = nullptr;  // the compiler's vocabulary
};

}  // namespace octavo
