// The drafts of all answers: it lets each answer's drafter guess the next tokens, cuts what cannot be drawn, and
// follows what was drawn instead.
//
//     Answers: tokens were drawn ─ follow(): how much of the draft was right ─▶ propose(): the next Sequence::draft
//                                                         Scheduler: how many of these have rows in the next step
//
// All drafters together have a bounded memory, in equal parts that go from one answer to the next. Owned by the engine;
// only the thread that drives it may call it.
#pragma once

#include <memory>
#include <vector>

#include "engine/answers/active_request.h"
#include "engine/drafts/drafter.h"
#include "engine/drafts/said_texts.h"

namespace octavo {

struct DraftOptions {
  DraftMode mode = DraftMode::kOff;
  int max_tokens = kMaxDraftTokens;  // for a sequence and a step; at most kMaxDraftTokens
};

class Drafting {
 public:
  static constexpr std::size_t kMemoryBytes = std::size_t{64} << 20;  // for all drafters and earlier answers

  /// At most `max_sequences` answers run. The words must outlive it; drafts are counted in `counts`. `has_head`: the
  /// runner has a draft head.
  Drafting(const DraftOptions& options, int max_sequences, const ModelTokenizer& words, int num_drawable, bool has_head,
           EngineStats& counts);

  bool is_on() const { return options_.mode != DraftMode::kOff; }
  bool looks_at_earlier_answers() const {
    return options_.mode == DraftMode::kSuffix || options_.mode == DraftMode::kAuto;
  }
  /// Whether the model's draft head guesses, too.
  bool asks_head() const { return has_head_ && options_.mode >= DraftMode::kMtp; }

  /// Guesses what follows a running choice, if its request wants drafts.
  void propose(const ActiveRequest& request, Choice& choice);
  /// Takes what the draft head has guessed for a choice: its draft becomes the likelier one of both.
  void take_guesses(const ActiveRequest& request, Choice& choice, std::span<const GuessedToken> guesses);
  /// How many leading tokens of a choice's draft were drawn: its tokens from position `first` on have come since
  /// propose().
  static int num_drawn(const Choice& choice, int first);
  /// Counts the first `num_rows` tokens of a choice's draft, which had rows in the step.
  void count_rows(Choice& choice, int num_rows);
  /// Counts the tokens `begin` to `end` of a choice's draft, which had rows and were drawn.
  void count_accepted(Choice& choice, int begin, int end);
  /// Lets a choice's drafter learn from the tokens that the step has appended.
  static void follow(Choice& choice, int first);
  /// Ends a choice: another one may have its drafter, and its answer is kept among the earlier ones.
  void end(const ActiveRequest& request, Choice& choice);

 private:
  bool take_drafter(const ActiveRequest& request, Choice& choice);
  void cut(const ActiveRequest& request, const Choice& choice, Draft& draft);
  int allowed_by(const ActiveRequest& request, const Choice& choice, const Draft& draft);

  const DraftOptions options_;
  const ModelTokenizer& words_;
  const int num_drawable_;
  const bool has_head_;
  EngineStats& counts_;
  std::size_t num_entries_;  // the entries of a drafter's index
  std::size_t most_drafters_, num_drafters_ = 0;
  std::vector<std::unique_ptr<Drafter>> spares_;
  SaidTexts said_;
  ConstraintState ahead_;  // scratch of allowed_by()
};

}  // namespace octavo
