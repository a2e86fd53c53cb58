// The latest answers of each cache domain, in which drafters look for what follows an answer's last tokens. No domain
// sees another's answers: how soon an answer comes would reveal them.
//
// Each domain has two halves; when the newer one is full, the older one is dropped. As many domains are kept as the
// memory is meant for, the most recently used ones. Owned by Drafting; only the thread that drives the engine may call
// it.
#pragma once

#include <list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/drafts/ngram_index.h"
#include "octavo/kv/types.h"

namespace octavo {

class SaidTexts {
 public:
  static constexpr std::size_t kPartTokens = std::size_t{1} << 15;
  /// How many tokens of an answer are kept, from its end.
  static constexpr std::size_t kMostKept = 4096;
  /// The separator between two answers.
  static constexpr TokenId kBreak = -1;

  explicit SaidTexts(std::size_t most_domains) : most_domains_(most_domains) {}

  /// Tokens of earlier answers that follow the longest match with the last tokens of `text`; none where nothing agrees.
  struct Found {
    std::span<const TokenId> next = {};
    int length = 0;  // how many tokens agree
  };
  Found find(std::string_view domain, std::span<const TokenId> text);
  /// Adds an answer of the domain that is over. Where there is no memory for another domain, it is not kept.
  void add(std::string_view domain, std::span<const TokenId> answer);

 private:
  struct Part {
    std::vector<TokenId> tokens = {};
    NgramIndex index{kPartTokens};
  };
  struct Domain {
    std::string name;
    Part newer = {}, older = {};
  };

  Domain* find_domain(std::string_view name);
  Domain* make_domain(std::string_view name);

  const std::size_t most_domains_;
  std::list<Domain> domains_;  // the most recently used first
};

}  // namespace octavo
