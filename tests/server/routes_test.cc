// Paths as clients write them.
#include "server/routes.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "api/api.h"
#include "server/route_rows.h"

namespace octavo::server {
namespace {

using boost::beast::http::verb;

/// The pattern of the route; empty: there is none.
std::string_view pattern_of(verb method, std::string_view target) {
  static const Routes routes;  // whose row it is
  const auto match = routes.find(method, target);
  return match ? match->row->path : std::string_view();
}

TEST(Routes, PathsAreFoundWithAndWithoutTheVersion) {
  for (const std::string path :
       {"/chat/completions", "/responses", "/responses/input_tokens", "/messages", "/messages/count_tokens"})
    EXPECT_EQ(pattern_of(verb::post, path), "/v1" + path);
  for (const std::string path : {"/rerank", "/reranking", "/score"})  // described with it and without
    for (const std::string prefix : {"", "/v1"}) EXPECT_EQ(pattern_of(verb::post, prefix + path), prefix + path);
  EXPECT_EQ(pattern_of(verb::get, "/responses/resp_1/input_items"), "/v1/responses/{id}/input_items");
  for (const std::string path : {"/health", "/ready", "/version", "/metrics", "/props", "/info", "/api/tags"})
    EXPECT_EQ(pattern_of(verb::get, "/v1" + path), path);
  for (const std::string path : {"/tokenize", "/detokenize", "/apply-template", "/completion", "/infill", "/api/chat",
                                 "/embed_all", "/embedding", "/api/embed", "/v2/rerank"})
    EXPECT_EQ(pattern_of(verb::post, "/v1" + path), path);
  EXPECT_EQ(pattern_of(verb::post, "/v1/v1/messages"), "/v1/messages");
  const auto model = Routes().find(verb::get, "/models/org/name");
  ASSERT_TRUE(model.has_value());
  EXPECT_EQ(model->argument, "org/name");
}

TEST(Routes, ThoseThatAreThereBothWaysStayTwo) {
  EXPECT_EQ(Routes().find(verb::post, "/completions")->row->api->name, "llama_completion");
  EXPECT_EQ(Routes().find(verb::post, "/v1/completions")->row->api->name, "openai_completion");
  EXPECT_EQ(Routes().find(verb::post, "/embeddings")->row->api->name, "llama_embedding");
  EXPECT_EQ(Routes().find(verb::post, "/v1/embeddings")->row->api->name, "openai_embedding");
  EXPECT_EQ(Routes().find(verb::post, "/embed")->row->api->name, "tei_embed");
  EXPECT_EQ(Routes().find(verb::post, "/v1/embed")->row->api->name, "cohere_embed_v1");
  EXPECT_EQ(pattern_of(verb::get, "/models"), "/models");
}

TEST(Routes, SlashesTooManyAreLeftOut) {
  for (const char* target :
       {"/v1/chat/completions/", "//v1/chat/completions", "/v1//chat/completions", "/chat/completions/",
        "/v1/chat/completions/?a=b", "http://x/v1/chat/completions/", "/v1/v1//chat/completions//"})
    EXPECT_EQ(pattern_of(verb::post, target), "/v1/chat/completions") << target;
  EXPECT_EQ(pattern_of(verb::get, "/health/"), "/health");
  EXPECT_EQ(pattern_of(verb::get, "/v1/models/"), "/v1/models");
  EXPECT_EQ(Routes().find(verb::get, "/v1/models/org/name/")->argument, "org/name");
  EXPECT_EQ(pattern_of(verb::get, "//"), "/");
}

TEST(Routes, WhatIsNotThereStaysNotThere) {
  for (const char* target : {"/v1", "/v1/", "/v1/nothing", "/nothing/", "/v2/models", "/v1x/health", "/v1health"})
    EXPECT_EQ(Routes().find(verb::get, target).error().status, 404) << target;
  EXPECT_EQ(Routes().find(verb::get, "/nothing/").error().message, "there is no /nothing/");
  EXPECT_EQ(Routes().find(verb::get, "/chat/completions/").error().status, 405);
  EXPECT_EQ(Routes().allowed_methods("/chat/completions/"), "POST");
}

TEST(Routes, APathThatIsSpeltOutIsNoClientsText) {
  EXPECT_EQ(Routes().allowed_methods("/v1/responses/input_tokens"), "POST");
  EXPECT_EQ(Routes().find(verb::get, "/v1/responses/input_tokens").error().message,
            "/v1/responses/input_tokens takes POST");
  EXPECT_EQ(Routes().allowed_methods("/v1/responses/input_token"), "GET, HEAD, DELETE");
}

TEST(Routes, TheDescriptionHasEachWithItsMethodAndASummary) {
  const Routes routes;
  const auto described = boost::json::parse(routes.description()).at("paths").as_object();
  std::size_t num_operations = 0;
  for (const auto& [path, operations] : described)
    for (const auto& [method, operation] : operations.as_object()) {
      const verb asked = method == "get" ? verb::get : method == "post" ? verb::post : verb::delete_;
      const auto match = routes.find(asked, path);
      ASSERT_TRUE(match.has_value()) << path;
      EXPECT_EQ(match->row->path, std::string_view(path));
      EXPECT_EQ(match->row->needs_key, operation.as_object().contains("security")) << path;
      EXPECT_FALSE(operation.at("summary").as_string().empty()) << path;
      ++num_operations;
    }
  EXPECT_EQ(num_operations, own_routes().size() + 32);  // and those of the APIs
}

TEST(Routes, AKeyIsAskedForHoweverThePathIsWritten) {
  for (const char* target : {"/chat/completions", "//v1/chat/completions", "/v1/api/chat", "/v1/tokenize/"})
    EXPECT_TRUE(Routes().find(verb::post, target)->row->needs_key) << target;
  EXPECT_TRUE(Routes().find(verb::get, "/v1/metrics")->row->needs_key);
}

TEST(Routes, AnErrorHasTheFormOfTheApiHoweverThePathIsWritten) {
  const ApiError error{.status = 400, .message = "no"};
  EXPECT_EQ(Routes().error_body("/messages", error), Routes().error_body("/v1/messages", error));
  EXPECT_EQ(Routes().error_body("//api/chat/", error), Routes().error_body("/api/chat", error));
  EXPECT_EQ(Routes().error_body("http://x/v1/messages?beta=true", error), Routes().error_body("/v1/messages", error));
  EXPECT_NE(Routes().error_body("/v1/messages", error), Routes().error_body("/v1/completions", error));
}

}  // namespace
}  // namespace octavo::server
