// The rules that the text of a grammar names and a ConstraintSource defines.
//
// Free functions; any thread.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "constraint/grammar/grammar.h"
#include "constraint/schema/json_schema.h"
#include "octavo/constraint.h"

namespace octavo {

/// The reading of the source's schemas, those of rules included.
OtherNames others_of(const ConstraintSource& source);

/// Defines the rules. Errors begin with a rule's name: the grammar does not name the rule, or defines it itself; a
/// schema or a mark cannot be taken. Warnings about schemas begin with the rule's name too.
Result<void> define_rules(const ConstraintSource& source, Grammar& grammar, std::vector<std::string>& warnings);

}  // namespace octavo
