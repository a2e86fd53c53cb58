#include "convert/spm_scores.h"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "base/to_size.h"
#include "base/utf8.h"

namespace octavo {
namespace {

constexpr std::size_t kMostShared = 20;  // at most one token in so many may share its score with another

using Ids = std::unordered_map<std::string_view, TokenId>;

/// The number of pairs of tokens that make `text`.
std::size_t num_pairs(const Ids& ids, std::string_view text) {
  std::size_t count = 0;
  for (std::size_t at = utf8_announced_length(text.front()); at < text.size(); at += utf8_announced_length(text[at]))
    if (ids.contains(text.substr(0, at)) && ids.contains(text.substr(at))) ++count;
  return count;
}

}  // namespace

std::optional<std::vector<float>> spm_scores(const TokenizerJson& json, std::size_t num_ids) {
  Ids ids;
  for (std::size_t id = 0; id < json.tokens.size(); ++id)
    if (!json.tokens[id].empty()) ids.emplace(json.tokens[id], static_cast<TokenId>(id));
  std::vector<std::size_t> made, pairs(json.tokens.size()), last(json.tokens.size());
  made.reserve(json.merges.size());
  std::string text;
  for (const MergeText& merge : json.merges) {
    text.assign(merge.left).append(merge.right);
    const auto found = ids.find(text);
    if (found == ids.end() || to_size(found->second) >= num_ids) return std::nullopt;
    last[to_size(found->second)] = made.size();
    ++pairs[to_size(found->second)];
    made.push_back(to_size(found->second));
  }
  std::vector<float> scores(num_ids);
  std::size_t num_tokens = 0, num_scores = 0, end = 0;  // the pairs of one score
  for (std::size_t i = 0; i < made.size(); ++i) {
    if (i == end) ++num_scores;
    end = std::max(end, last[made[i]] + 1);
    if (scores[made[i]] == 0) ++num_tokens;
    scores[made[i]] = -static_cast<float>(num_scores);
  }
  if (num_tokens - num_scores > num_tokens / kMostShared) return std::nullopt;
  // An added token is cut out of a text before merging.
  for (const JsonAddedToken& token : json.added_tokens)
    if (to_size(token.id) < json.tokens.size()) ids.erase(json.tokens[to_size(token.id)]);
  for (const auto& [token, id] : ids)
    if (pairs[to_size(id)] < num_pairs(ids, token)) return std::nullopt;
  return scores;
}

}  // namespace octavo
