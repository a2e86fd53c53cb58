// The field by which an answer goes on that broke off elsewhere. Constants; any thread.
#pragma once

#include "api/call/api_field.h"

namespace octavo {

extern const FieldTable kResumeFields;

}  // namespace octavo
