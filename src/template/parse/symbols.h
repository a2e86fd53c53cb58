// The names of one scope while its tree is walked.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "template/parse/syntax.h"

namespace octavo::jinja {

class Symbols {
 public:
  Symbols(Arena& arena, const Symbols* outer);

  /// Notes a name that is read in this scope.
  void load(const Text* name);
  /// Notes a name that is set in this scope.
  void store(const Text* name);
  /// Adds a name that is set where the scope is entered.
  std::uint32_t declare(const Text* name);

  /// A copy for a branch of a condition; join() takes the copies when all branches are looked through.
  Symbols branch() const;
  void join(std::span<const Symbols> branches);

  NameSlot slot_of(const Text* name) const;
  /// The scope of the names.
  Scope* finish() const;

 private:
  std::uint32_t own_slot(const Text* name);
  std::optional<NameSlot> find(std::string_view name) const;

  Arena* arena_;
  const Symbols* outer_;
  std::shared_ptr<std::vector<const Text*>> names_;  // [slots]; branches share them
  std::map<std::string_view, std::uint32_t> references_;
  std::map<std::uint32_t, SlotLoad> loads_;
  std::set<std::string_view> stores_;
};

}  // namespace octavo::jinja
