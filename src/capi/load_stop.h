// A stop of loading: whoever closes its handle ends the loads that it was given to. Any thread.
#pragma once

#include <stop_token>

#include "capi/handles.h"

namespace octavo::capi {

class LoadStop final : public Handled {
 public:
  std::stop_token token() const { return source_.get_token(); }
  void close() override { source_.request_stop(); }

 private:
  std::stop_source source_;
};

}  // namespace octavo::capi
