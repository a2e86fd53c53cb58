#include "engine/drafts/said_texts.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/to_size.h"

namespace octavo {

SaidTexts::Domain* SaidTexts::find_domain(std::string_view name) {
  const auto found = std::ranges::find(domains_, name, &Domain::name);
  if (found == domains_.end()) return nullptr;
  domains_.splice(domains_.begin(), domains_, found);
  return &domains_.front();
}

/// Makes a domain. Where there are as many as may be, it takes the memory of the one that was not used for longest.
/// Null: there is no memory.
SaidTexts::Domain* SaidTexts::make_domain(std::string_view name) try {
  if (domains_.size() < most_domains_) {
    Domain made{.name = std::string(name)};
    for (Part* part : {&made.newer, &made.older}) part->tokens.reserve(kPartTokens);
    domains_.push_front(std::move(made));
  } else {
    domains_.back().name = name;
    domains_.splice(domains_.begin(), domains_, std::prev(domains_.end()));
  }
  for (Part* part : {&domains_.front().newer, &domains_.front().older}) {
    part->tokens.clear();
    part->index.clear(kPartTokens);
  }
  return &domains_.front();
} catch (const std::bad_alloc&) {
  return nullptr;
}

SaidTexts::Found SaidTexts::find(std::string_view domain, std::span<const TokenId> text) {
  const Domain* known = find_domain(domain);
  Found found;
  if (known == nullptr) return found;
  for (const Part* part : {&known->newer, &known->older}) {
    const NgramIndex::Match match = part->index.find(part->tokens, text);
    if (match.length <= found.length) continue;
    found = {.next = std::span(part->tokens).subspan(to_size(match.at)), .length = match.length};
  }
  return found;
}

void SaidTexts::add(std::string_view domain, std::span<const TokenId> answer) {
  Domain* known = find_domain(domain);
  if (known == nullptr) known = make_domain(domain);
  if (known == nullptr) return;
  Domain& said = *known;
  const std::span<const TokenId> kept = answer.last(std::min(answer.size(), kMostKept));
  if (said.newer.tokens.size() + kept.size() + 1 > kPartTokens) {
    std::swap(said.newer, said.older);
    said.newer.tokens.clear();
    said.newer.index.clear(kPartTokens);
  }
  said.newer.tokens.insert(said.newer.tokens.end(), kept.begin(), kept.end());
  said.newer.tokens.push_back(kBreak);
  said.newer.index.follow(said.newer.tokens, static_cast<int>(kept.size()) + 1);
}

}  // namespace octavo
