// The rules that the text of a grammar names and a ConstraintSource defines.
//
// Free functions; any thread.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "constraint/grammar.h"
#include "constraint/json_schema.h"
#include "octavo/constraint.h"

namespace octavo {

/// The reading of the source's schemas, those of its rules too.
OtherNames others_of(const ConstraintSource& source);

/// Defines them. Errors begin with the name of the rule: the grammar does not name it, or defines it itself; a schema
/// or a mark that cannot be taken. So do warnings, which are those of schemas.
Result<void> define_rules(const ConstraintSource& source, Grammar& grammar, std::vector<std::string>& warnings);

}  // namespace octavo
