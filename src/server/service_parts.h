// The parts of a server with which it answers. The functions of routes find all of them here.
//
// Owned by the Service; the I/O thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <random>
#include <string>

#include "api/buffered_answer.h"
#include "api/responses/response_store.h"
#include "base/random_bytes.h"
#include "server/active_completions.h"
#include "server/api_keys.h"
#include "server/body_reader.h"
#include "server/compile_queue.h"
#include "server/event_queue.h"
#include "server/exchange.h"
#include "server/metrics.h"
#include "server/model_puller.h"
#include "server/model_table.h"
#include "server/picture_fetches.h"
#include "server/responder.h"
#include "server/routes.h"
#include "server/server_files.h"
#include "server/server_options.h"
#include "server/stoppable_work.h"

namespace octavo::server {

struct ServiceParts {
  const ServerOptions& options;
  const ServerFiles files;
  asio::io_context& io;
  ModelTable& models;
  const Routes routes{options.apis};
  const std::string description = routes.description();
  ApiKeys keys = files.keys;  // the current ones
  Metrics metrics = {};
  Mailbox mailbox{io};
  ActiveCompletions active = {};
  bool is_leaving = false;  // a drain is near: the server is not ready any more
  /// The memory of answers that are not streamed.
  BufferBudget held{{.answer_bytes = options.requests.max_answer_bytes, .all_bytes = options.answers.max_held_bytes}};
  const Responder responder{routes, options.access.cors_origins, held};
  ResponseStore responses{options.stored_limits()};
  std::mt19937_64 random{random_seed()};
  // Declared last, so that their threads are joined before all else is destroyed.
  StoppableWork counting = {};
  BodyReader bodies{models, options.body_limits(), options.bodies};
  PictureFetches pictures{options, bodies};
  CompileQueue compiling{options.queued_requests()};
  ModelPuller puller{options.pull, io, models, metrics};

  /// 16 hexadecimal digits that name a request or an answer.
  std::string make_id() { return fmt::format("{:016x}", random()); }
  /// The stored responses that the request's client may see. `body_bytes`: the size of a body that may refer to them.
  OwnResponses responses_of(const Exchange& exchange, std::uint64_t body_bytes = 0) {
    return {.store = &responses, .owner = exchange.key.name, .client = client_of(exchange), .body_bytes = body_bytes};
  }
};

}  // namespace octavo::server
