// The latest answers of each cache domain, in which drafters look for what follows an answer's last tokens. No domain
// sees another's: how soon an answer comes would tell of it.
//
// Each domain has two parts of the same size, the older of which goes when the newer one is full, and as many domains
// are kept as memory is meant for, those that were used last. Owned by Drafting; only the thread that drives the engine
// may call it.
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
  /// Tokens of an answer that are kept, those at its end.
  static constexpr std::size_t kMostKept = 4096;
  /// Stands between two answers.
  static constexpr TokenId kBreak = -1;

  explicit SaidTexts(std::size_t most_domains) : most_domains_(most_domains) {}

  /// Tokens that were said before, up to the end of what is kept, behind the longest match with the last tokens of
  /// `text`; none where nothing agrees.
  struct Found {
    std::span<const TokenId> next = {};
    int length = 0;  // tokens that agree
  };
  Found find(std::string_view domain, std::span<const TokenId> text);
  /// An answer of the domain is over. Where there is no memory for another domain, nothing of it is kept.
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
  std::list<Domain> domains_;  // the one that was used last stands first
};

}  // namespace octavo
