// The demands of a schema that cannot be held, and their places.
//
// Used by one thread, while a schema is read. After the first error nothing more is kept.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "constraint/grammar/compile_work.h"
#include "constraint/schema/json_tree.h"

namespace octavo {

class SchemaReport {
 public:
  static constexpr std::size_t kMaxWarnings = 32;

  /// The tree, the warnings and the work must outlive the report.
  SchemaReport(const JsonTree& tree, bool is_strict, std::vector<std::string>& warnings, CompileWork& work)
      : tree_(tree), is_strict_(is_strict), warnings_(warnings), work_(work) {}

  /// Reports that no rule is as narrow as the value at `keyword` asks: an error of a strict schema, else a warning.
  void cannot_hold(JsonTree::NodeId keyword, std::string_view why);
  /// Reports that the rule is narrower than the keyword asks, so that some allowed texts are never made: a warning.
  void narrows(JsonTree::NodeId keyword, std::string_view how);
  /// Reports that the keyword has a wrong value: an error.
  void refuse(JsonTree::NodeId keyword, std::string_view expected);
  void fail_with(std::string message);

  /// Whether there is an error, or the work of the compile has ended.
  bool failed() const { return error_.has_value() || work_.has_ended(); }
  /// The number of findings, whether they were written down or not.
  std::size_t num_found() const { return num_found_; }
  /// The error, where failed() is true.
  Error error() const { return work_.has_ended() ? work_.error() : *error_; }
  CompileWork& work() const { return work_; }

  /// A try: while it lives, a demand that cannot be held is no error and no warning, but makes failed() true.
  class Trial {
   public:
    explicit Trial(SchemaReport& report) : report_(report), outer_(std::exchange(report.trial_, this)) {}
    ~Trial() { report_.trial_ = outer_; }
    Trial(const Trial&) = delete;
    Trial& operator=(const Trial&) = delete;
    bool failed() const { return failed_; }
    /// Makes use of the try: the narrowings that it has found count.
    void keep();

   private:
    friend class SchemaReport;
    SchemaReport& report_;
    Trial* outer_;
    bool failed_ = false;
    std::vector<std::pair<JsonTree::NodeId, std::string>> narrowed_;
  };

 private:
  /// Adds a warning about a keyword's place; a warning that would not be kept is not written, because it may be long.
  void warn(JsonTree::NodeId keyword, std::string_view what, std::string_view end);

  const JsonTree& tree_;
  const bool is_strict_;
  std::vector<std::string>& warnings_;
  CompileWork& work_;
  std::optional<Error> error_;
  Trial* trial_ = nullptr;
  std::size_t num_found_ = 0;
};

}  // namespace octavo
