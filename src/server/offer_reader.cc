#include "server/offer_reader.h"

#include <boost/asio/post.hpp>
#include <memory>
#include <utility>

namespace octavo::server {

OfferReader::OfferReader(boost::asio::io_context& io, ReadOffers read, Take take)
    : io_(io), read_(std::move(read)), take_(std::move(take)) {}

void OfferReader::read() {
  if (!read_) return;
  if (is_reading_) {
    is_asked_again_ = true;
    return;
  }
  is_reading_ = true;
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void OfferReader::run(const std::stop_token& stop) {
  auto offers = std::make_shared<Result<std::vector<ModelOffer>>>(read_(stop));
  boost::asio::post(io_, [this, offers] {
    thread_.join();
    is_reading_ = false;
    take_(std::move(*offers));
    if (std::exchange(is_asked_again_, false)) read();
  });
}

}  // namespace octavo::server
