#include "chat/rank_template.h"

#include <algorithm>

namespace octavo {
namespace {

constexpr std::string_view kKey = "tokenizer.chat_template.rerank";
constexpr std::string_view kQuery = "{query}", kDocument = "{document}";

}  // namespace

Result<RankTemplate> RankTemplate::load(const ModelSource& source) {
  RankTemplate loaded;
  if (source.find(kKey) == nullptr) return loaded;
  OCTAVO_TRY(std::string_view rest, source.get_string(kKey));
  for (const std::string_view place : {kQuery, kDocument})
    if (!rest.contains(place)) return fail("{}: {} has no {}", source.name(), kKey, place);
  while (!rest.empty()) {
    const std::size_t query = rest.find(kQuery), document = rest.find(kDocument), next = std::min(query, document);
    if (next != 0) loaded.pieces_.push_back({.kind = Kind::kText, .text = std::string(rest.substr(0, next))});
    if (next == std::string_view::npos) break;
    const bool is_query = next == query;
    loaded.pieces_.push_back({.kind = is_query ? Kind::kQuery : Kind::kDocument});
    rest.remove_prefix(next + (is_query ? kQuery : kDocument).size());
  }
  return loaded;
}

std::vector<PromptPart> RankTemplate::parts(std::string_view query, std::string_view document) const {
  std::vector<PromptPart> parts;
  for (const Piece& piece : pieces_) {
    const bool is_text = piece.kind == Kind::kText;
    parts.push_back({.text = is_text ? piece.text : std::string(piece.kind == Kind::kQuery ? query : document),
                     .is_template = is_text});
  }
  return parts;
}

}  // namespace octavo
