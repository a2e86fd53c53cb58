#include "constraint/compiled_constraint.h"

#include <atomic>
#include <utility>

#include "base/stop_check.h"
#include "constraint/constraint_state.h"
#include "constraint/grammar/compile_work.h"

namespace octavo {
namespace {

std::vector<std::string_view> bytes_of(std::span<const ConstraintVocabulary::Token> tokens) {
  std::vector<std::string_view> bytes;
  bytes.reserve(tokens.size());
  for (const ConstraintVocabulary::Token& token : tokens)
    bytes.push_back(token.ends_answer ? std::string_view() : token.bytes);
  return bytes;
}

}  // namespace

ConstraintVocabulary::ConstraintVocabulary(std::vector<Token> tokens, bool drops_first_space, Encoder encoder)
    : tokens_(std::move(tokens)),
      trie_(bytes_of(tokens_)),
      drops_first_space_(drops_first_space),
      encoder_(std::move(encoder)) {
  for (std::size_t id = 0; id < tokens_.size(); ++id) {
    if (tokens_[id].ends_answer) {
      end_tokens_.push_back(static_cast<TokenId>(id));
    } else {
      for (const char c : tokens_[id].bytes) written_.set(static_cast<std::uint8_t>(c));
    }
  }
}

Result<std::shared_ptr<const CompiledConstraint>> CompiledConstraint::create(const Grammar& grammar, Parts parts) {
  OCTAVO_TRY(Automaton automaton, Automaton::build(grammar, parts.vocabulary->written()));
  const std::size_t num_bytes = automaton.num_bytes();
  while (!parts.memory->try_add_automaton(num_bytes)) {
    if (parts.make_room()) continue;
    OCTAVO_TRY_VOID(check_stop(parts.stop, kCompiling));
    parts.memory->wait_for_room(parts.stop);
  }
  const std::shared_ptr<const CompiledConstraint> compiled(new CompiledConstraint(std::move(automaton), parts));
  ConstraintState state;
  state.begin(compiled, std::nullopt);
  std::vector<MaskWord> mask(mask_words(compiled->vocabulary()->size()));
  std::atomic<bool> is_stopped = false;
  const std::stop_callback on_stop(parts.stop, [&is_stopped] { is_stopped = true; });
  const FoundMask first = state.allow(mask, {.stop = &is_stopped});
  if (first.outcome == FoundMask::Outcome::kNotReady) return std::unexpected(stopped(kCompiling));
  if (!first)
    return fail("found {} that is too ambiguous to be followed: its first token takes more than {} steps of work",
                compiled->name(), TokenMasks::kMaxWork);
  return Result<std::shared_ptr<const CompiledConstraint>>(compiled);
}

CompiledConstraint::CompiledConstraint(Automaton automaton, Parts& parts)
    : Constraint(std::move(parts.warnings)),
      automaton_(std::move(automaton)),
      vocabulary_(std::move(parts.vocabulary)),
      memory_(std::move(parts.memory)),
      name_(std::move(parts.name)),
      masks_(automaton_, vocabulary_->trie(), vocabulary_->size(), *memory_) {}

CompiledConstraint::~CompiledConstraint() { memory_->remove_automaton(automaton_.num_bytes()); }

}  // namespace octavo
