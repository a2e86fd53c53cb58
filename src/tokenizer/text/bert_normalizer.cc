#include "tokenizer/text/bert_normalizer.h"

namespace octavo {

void BertNormalizer::add_steps(std::vector<TextStep>& steps) const {
  const auto change = [&steps](CharacterChange kind) {
    steps.push_back({.kind = TextStep::Kind::kChange, .change = kind});
  };
  if (cleans) change(CharacterChange::kClean);
  if (sets_han_apart) change(CharacterChange::kSetHanApart);
  if (leaves_out_accents) {
    steps.push_back({.form = Normalization::kNfd});
    change(CharacterChange::kLeaveOutAccents);
  }
  if (lower_cases) change(CharacterChange::kLowerCase);
}

}  // namespace octavo
