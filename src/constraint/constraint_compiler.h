// Makes constraints of their sources, and keeps the last ones: clients send the same schema with every request.
//
// Any thread may call it; two threads that ask for the same source at once may both compile it. Kept constraints count
// in the memory of all constraints and give way to a new one, which waits for the room of those that answers hold.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <utility>

#include "base/error.h"
#include "constraint/compiled_constraint.h"
#include "constraint/grammar/compile_work.h"
#include "constraint/grammar/gbnf.h"
#include "octavo/constraint.h"

namespace octavo {

class ConstraintCompiler {
 public:
  static constexpr std::size_t kMaxKept = 256;
  static constexpr std::size_t kMaxKeptText = std::size_t{16} << 20;  // bytes of the sources of all kept constraints
  static constexpr std::size_t kMaxChoices = 4096;
  static constexpr std::size_t kMaxChoiceBytes = 1 << 20;  // all choices of a source together

  /// `max_steps` bounds the work of one compile.
  ConstraintCompiler(std::shared_ptr<const ConstraintVocabulary> vocabulary, TokenNames tokens,
                     std::shared_ptr<ConstraintMemory> memory = std::make_shared<ConstraintMemory>(),
                     std::uint64_t max_steps = CompileWork::kMaxSteps)
      : vocabulary_(std::move(vocabulary)),
        tokens_(std::move(tokens)),
        memory_(std::move(memory)),
        max_steps_(max_steps) {}

  /// Errors: a source that is too large or cannot be read, with its place; a source that no text can fulfil, or that
  /// cannot be followed in time; those of CompileWork.
  Result<std::shared_ptr<const CompiledConstraint>> compile(const ConstraintSource& source, std::stop_token stop = {});

  const std::shared_ptr<const ConstraintVocabulary>& vocabulary() const { return vocabulary_; }

 private:
  using Kept = std::pair<std::string, std::shared_ptr<const CompiledConstraint>>;

  std::shared_ptr<const CompiledConstraint> find(const std::string& key);
  void keep(std::string key, std::shared_ptr<const CompiledConstraint> compiled);
  bool forget_one();

  const std::shared_ptr<const ConstraintVocabulary> vocabulary_;
  const TokenNames tokens_;
  const std::shared_ptr<ConstraintMemory> memory_;
  const std::uint64_t max_steps_;
  std::mutex mutex_;                // guards the members below
  std::list<Kept> kept_;            // in the order of use, the last used first
  std::size_t num_text_bytes_ = 0;  // the bytes of the sources of kept_
};

}  // namespace octavo
