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
#include "constraint/compile_work.h"
#include "constraint/json_tree.h"

namespace octavo {

class SchemaReport {
 public:
  static constexpr std::size_t kMaxWarnings = 32;

  /// All must outlive it.
  SchemaReport(const JsonTree& tree, bool is_strict, std::vector<std::string>& warnings, CompileWork& work)
      : tree_(tree), is_strict_(is_strict), warnings_(warnings), work_(work) {}

  /// No rule is as narrow as the value at `keyword` asks: an error of a strict schema, else a warning.
  void cannot_hold(JsonTree::NodeId keyword, std::string_view why);
  /// The rule is narrower than the keyword asks, so that some texts that fulfil it are never made: a warning.
  void narrows(JsonTree::NodeId keyword, std::string_view how);
  /// The value is none that the keyword may have.
  void refuse(JsonTree::NodeId keyword, std::string_view expected);
  void fail_with(std::string message);

  /// Also where the work of the compile ends.
  bool failed() const { return error_.has_value() || work_.has_ended(); }
  /// How often something was found, whether it was written down or not.
  std::size_t num_found() const { return num_found_; }
  /// The error, where failed() is true.
  Error error() const { return work_.has_ended() ? work_.error() : *error_; }
  CompileWork& work() const { return work_; }

  /// Tries something: while it lives, what cannot be held is no error and no warning, but makes failed() true.
  class Trial {
   public:
    explicit Trial(SchemaReport& report) : report_(report), outer_(std::exchange(report.trial_, this)) {}
    ~Trial() { report_.trial_ = outer_; }
    Trial(const Trial&) = delete;
    Trial& operator=(const Trial&) = delete;
    bool failed() const { return failed_; }
    /// The try is made use of: what it has narrowed counts.
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
