#include "tokenizer/prompt_fragments.h"

#include <string_view>
#include <utility>

namespace octavo {

std::size_t prompt_bytes(std::span<const PromptPart> parts) {
  std::size_t num_bytes = 0;
  for (const PromptPart& part : parts) num_bytes += part.text.size();
  return num_bytes;
}

std::vector<Fragment> cut_prompt(std::span<const PromptPart> parts, const SpecialTokens& all_special,
                                 const SpecialTokens& anywhere, std::string& text) {
  std::vector<std::pair<TokenId, std::size_t>> cuts;  // tokens, and their places in `text`
  for (const PromptPart& part : parts) {
    if (!part.is_template) {
      text += part.text;
      continue;
    }
    for (const Fragment& fragment : all_special.split(part.text)) {
      if (fragment.token < 0) {
        text += fragment.text;
      } else {
        cuts.emplace_back(fragment.token, text.size());
      }
    }
  }
  std::vector<Fragment> fragments;
  std::size_t begin = 0;
  const auto add_run = [&](std::size_t end) {
    const auto run = anywhere.split(std::string_view(text).substr(begin, end - begin));
    fragments.insert(fragments.end(), run.begin(), run.end());
    begin = end;
  };
  for (const auto& [token, place] : cuts) {
    add_run(place);
    fragments.push_back({token, {}});
  }
  add_run(text.size());
  return fragments;
}

}  // namespace octavo
