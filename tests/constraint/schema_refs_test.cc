#include "constraint/schema/schema_refs.h"

#include <gtest/gtest.h>

namespace octavo {
namespace {

TEST(ResolvedUri, FollowsRfc3986) {
  const char* base = "http://a/b/c/d;p?q";
  for (const auto& [reference, expected] :
       std::vector<std::pair<const char*, const char*>>{{"g:h", "g:h"},
                                                        {"g", "http://a/b/c/g"},
                                                        {"./g", "http://a/b/c/g"},
                                                        {"g/", "http://a/b/c/g/"},
                                                        {"/g", "http://a/g"},
                                                        {"//g", "http://g"},
                                                        {"?y", "http://a/b/c/d;p?y"},
                                                        {"g?y", "http://a/b/c/g?y"},
                                                        {"", "http://a/b/c/d;p?q"},
                                                        {".", "http://a/b/c/"},
                                                        {"..", "http://a/b/"},
                                                        {"../g", "http://a/b/g"},
                                                        {"../../g", "http://a/g"},
                                                        {"../../../g", "http://a/g"}})
    EXPECT_EQ(resolved_uri(base, reference), expected) << reference;
}

class References : public ::testing::Test {
 protected:
  std::string target(std::string_view from, std::string_view reference) const {
    CompileWork work;
    const auto found = SchemaRefs(tree_, work).resolve(tree_.follow(JsonTree::kRoot, from).value(), reference);
    return found ? tree_.pointer(*found) : "none";
  }

  JsonTree tree_ = JsonTree::parse(R"({
    "$id": "http://example.org/root.json",
    "$defs": {
      "a b": {"$anchor": "first"},
      "inner": {"$id": "inner.json", "$defs": {"x": {"$anchor": "second"}, "y%": {}}},
      "old": {"$id": "#third"}}})")
                       .value();
};

TEST_F(References, LeadToPointersAnchorsAndIds) {
  EXPECT_EQ(target("", "#"), "#");
  EXPECT_EQ(target("", "#/$defs/a%20b"), "#/$defs/a b");
  EXPECT_EQ(target("", "#first"), "#/$defs/a b");
  EXPECT_EQ(target("", "#third"), "#/$defs/old");
  EXPECT_EQ(target("", "inner.json#second"), "#/$defs/inner/$defs/x");
  EXPECT_EQ(target("", "http://example.org/inner.json#/$defs/y%25"), "#/$defs/inner/$defs/y%");
  EXPECT_EQ(target("/$defs/inner/$defs/x", "#/$defs/x"), "#/$defs/inner/$defs/x");
  EXPECT_EQ(target("/$defs/inner", "root.json"), "#");
}

TEST_F(References, LeadNowhereElse) {
  for (const char* reference : {"#/no", "#second", "other.json", "http://example.org/", "#/$defs/a%20b/no"})
    EXPECT_EQ(target("", reference), "none") << reference;
}

TEST(DynamicReferences, LeadToTheOnlyAnchorOfTheirName) {
  const JsonTree tree = JsonTree::parse(R"({"a": {"$dynamicAnchor": "n"}, "b": {"$dynamicAnchor": "m"},
                                            "c": {"$dynamicAnchor": "m"}})")
                            .value();
  CompileWork work;
  const SchemaRefs refs(tree, work);
  EXPECT_EQ(tree.pointer(refs.resolve_dynamic(JsonTree::kRoot, "#n").value()), "#/a");
  EXPECT_FALSE(refs.resolve_dynamic(JsonTree::kRoot, "#m").has_value());
}

}  // namespace
}  // namespace octavo
