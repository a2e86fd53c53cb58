// Many requests through one engine: lines are read as far ahead as there is work for, and answered together.
//
// Memory is bounded whatever the file's length: by the lines in work and those that wait for an earlier one to be
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
  int parallel = 32;             // answers in work at once
  bool as_finished = false;      // write each answer when it is there, in no order
  std::uint64_t first_line = 1;  // those before are skipped
};

/// How far a batch has come.
struct BatchProgress {
  std::uint64_t answered = 0, failed = 0;  // lines that are written
  std::uint64_t last_line = 0;             // of these, and in order all before it
  std::uint64_t first_failed = 0;          // a line; 0: none
  std::uint64_t done = 0;                  // lines that have their answer, written or waiting for an earlier one
  std::uint64_t done_bytes = 0;            // of the input, of these lines
  std::uint64_t skipped_bytes = 0;         // of the lines before the first
  std::uint64_t tokens = 0;                // generated
  bool interrupted = false;
};

class BatchRun {
 public:
  /// All must outlive this.
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
  std::size_t num_active_ = 0;               // answers in work
  std::deque<std::unique_ptr<Item>> items_;  // of lines in their order, the first not written yet
  BatchProgress progress_;
};

}  // namespace octavo::cli
