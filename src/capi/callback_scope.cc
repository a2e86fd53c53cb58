#include "capi/callback_scope.h"

namespace octavo::capi {
namespace {

thread_local int depth = 0;  // a callback may cancel, whose news are another callback

}  // namespace

CallbackScope::CallbackScope() noexcept { ++depth; }
CallbackScope::~CallbackScope() { --depth; }
bool CallbackScope::is_inside() noexcept { return depth > 0; }

}  // namespace octavo::capi
