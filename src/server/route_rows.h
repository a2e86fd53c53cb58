// The routes that every server has besides those of its APIs, one row each. Constants; any thread.
#pragma once

#include <span>

#include "server/routes.h"

namespace octavo::server {

std::span<const RouteRow> own_routes();

}  // namespace octavo::server
