#include "server/picture_fetches.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "server/run_on.h"
#include "server/server_options.h"

namespace octavo::server {
namespace {

/// Takes out the addresses that are too many: those from which on the body has more than `most` pictures.
FetchedPictures take_too_many(std::vector<PictureAddress>& addresses, int most) {
  FetchedPictures refused;
  std::int64_t number = 0;
  std::size_t num_kept = 0;
  for (; num_kept < addresses.size(); ++num_kept) {
    number += addresses[num_kept].count;
    if (number > most) break;
  }
  for (std::size_t i = num_kept; i < addresses.size(); ++i)
    refused.emplace(std::move(addresses[i].address),
                    fail_as(ErrorKind::kPictureTooLarge,
                            "found the addresses of more than {} pictures, expected at "
                            "most so many of a request",
                            most));
  addresses.resize(num_kept);
  return refused;
}

std::size_t num_bytes_of(const FetchedPictures& fetched) {
  std::size_t num_bytes = 0;
  for (const auto& [address, picture] : fetched)
    if (picture) num_bytes += picture->bytes.size();
  return num_bytes;
}

}  // namespace

PictureFetches::PictureFetches(const ServerOptions& options, BodyReader& bodies)
    : options_(options),
      bodies_(bodies),
      queue_(options.pictures.fetch ? std::make_unique<WorkQueue>(kThreads) : nullptr) {}

asio::awaitable<ApiResult<FetchedPictures>> PictureFetches::fetch_all(Exchange& exchange, std::size_t body_bytes,
                                                                      std::vector<PictureAddress> addresses,
                                                                      std::stop_token stop) {
  HttpConnection& connection = exchange.connection;
  FetchedPictures fetched = take_too_many(addresses, options_.requests.picture_bounds.pictures);
  connection.hold_body(body_bytes);
  const WorkQueue::Turn turn(
      *queue_, client_of(exchange), 0, [&connection] { connection.wake().notify(); }, Clock::now());
  while (!turn.has_begun() && !stop.stop_requested() && !connection.gave_up()) co_await connection.wake().wait();
  if (connection.gave_up()) co_return std::unexpected(too_much_received());
  if (!turn.has_begun()) co_return std::unexpected(shutting_down());
  auto work = [&] { return options_.pictures.fetch(addresses, options_.http.max_body_bytes, stop); };
  std::vector<Result<FetchedPicture>> results = co_await run_on(queue_->threads(), work);
  for (std::size_t i = 0; i < results.size(); ++i)
    fetched.insert_or_assign(std::move(addresses[i].address), std::move(results[i]));
  co_return fetched;
}

asio::awaitable<ApiResult<UnfetchedPictures>> PictureFetches::fetch(Exchange& exchange, AddressedBody& body,
                                                                    std::stop_token stop) {
  if (!body.model.engine().info().vision.sees()) co_return UnfetchedPictures();
  auto find = [&] { return find_pictures(body.object); };
  BodyPictures found = co_await run_on(bodies_.threads(), find);
  const bool fetches = queue_ != nullptr && !found.addresses.empty();
  if (!fetches && (!found.has_any || body.num_bytes > WorkQueue::kSmallBytes)) co_return UnfetchedPictures();
  body.turn.reset();
  ApiResult<FetchedPictures> fetched;
  if (fetches) fetched = co_await fetch_all(exchange, body.num_bytes, std::move(found.addresses), stop);
  if (!fetched) co_return std::unexpected(fetched.error());
  if (stop.stop_requested()) co_return std::unexpected(shutting_down());
  const std::size_t num_bytes = body.num_bytes + num_bytes_of(*fetched);
  exchange.connection.hold_body(num_bytes);
  auto turn = co_await bodies_.take_turn(exchange, std::max(num_bytes, WorkQueue::kSmallBytes + 1));
  if (!turn) co_return std::unexpected(turn.error());
  if (!(*turn)->has_begun()) co_return std::unexpected(shutting_down());  // nobody will see this
  body.turn = std::move(*turn);
  exchange.connection.body_is_taken();
  auto put = [&] { return put_pictures(body.object, *fetched); };
  co_return co_await run_on(bodies_.threads(), put);
}

}  // namespace octavo::server
