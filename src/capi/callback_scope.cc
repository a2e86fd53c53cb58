#include "capi/callback_scope.h"

namespace octavo::capi {
namespace {

thread_local int depth = 0;  // more than 1 where a callback cancels, whose news are told in a callback inside it

}  // namespace

CallbackScope::CallbackScope() noexcept { ++depth; }
CallbackScope::~CallbackScope() { --depth; }
bool CallbackScope::is_inside() noexcept { return depth > 0; }

}  // namespace octavo::capi
