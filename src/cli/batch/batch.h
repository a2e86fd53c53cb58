// Runs many requests through one engine: lines are read as far ahead as there is work for, and answered together.
//
// Memory is bounded whatever the file's length: by the lines in progress and those that wait for an earlier one to be
// written. One thread, which drives the engine.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <iosfwd>
#include <memory>

#include "api/call/completion.h"
#include "cli/batch/batch_input.h"
#include "cli/batch/batch_line.h"
#include "octavo/engine.h"

namespace octavo::cli {

struct BatchSettings {
  BatchDefaults defaults = {};
  int parallel = 32;             // answers that are made at once
  bool as_finished = false;      // answers are written as they become ready, in any order
  std::uint64_t first_line = 1;  // earlier lines are skipped
};

/// How far a batch has come.
struct BatchProgress {
  std::uint64_t answered = 0, failed = 0;  // lines that were written
  std::uint64_t last_line = 0;             // the last line of these; all lines before it are done
  std::uint64_t first_failed = 0;          // the number of a line; 0: none
  std::uint64_t done = 0;                  // lines with an answer, written or waiting for an earlier line
  std::uint64_t done_bytes = 0;            // their bytes in the input
  std::uint64_t skipped_bytes = 0;         // bytes of the lines before the first
  std::uint64_t tokens = 0;                // generated tokens
  bool interrupted = false;
};

class BatchRun {
 public:
  /// All references must outlive this.
  BatchRun(Engine& engine, const ServedModel& model, BatchSettings settings, BatchInput& input, std::ostream& out);
  ~BatchRun();
  BatchRun(const BatchRun&) = delete;
  BatchRun& operator=(const BatchRun&) = delete;

  /// Runs until the input ends or Ctrl-C stops it. `on_progress` is called after each step. Error: the output cannot
  /// be written.
  Result<BatchProgress> run(const std::function<void(const BatchProgress&)>& on_progress);

 private:
  struct Item;

  bool has_room() const;
  void read_ahead();
  ApiResult<void> compile(CompletionCall& call);
  void start(Item& item);
  void take(Item& item, std::size_t prompt, const TokenEvent& event);
  void finish(Item& item, const ApiError& error);
  void set_done(Item& item);
  Result<void> write_finished();
  Result<void> write(const Item& item);
  void stop();

  Engine& engine_;
  const ServedModel& model_;
  const BatchSettings settings_;
  BatchInput& input_;
  std::ostream& out_;
  bool input_ended_ = false;
  std::uint64_t num_bytes_read_ = 0;
  std::size_t num_active_ = 0;               // answers in progress
  std::deque<std::unique_ptr<Item>> items_;  // lines in order, from the first that is not written
  BatchProgress progress_;
};

}  // namespace octavo::cli
