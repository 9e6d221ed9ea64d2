#include "rill/net/cluster_json.hpp"

#include <gtest/gtest.h>

#include "base/sentence.hpp"

namespace rill::net {
namespace {

TEST(cluster_json, is_read_as_tensorflow_writes_it) {
  auto const c = read_cluster_json(R"( {"cluster": {"ps": ["10.0.0.1:7000"], "worker": ["a:1", "b:\u0031"]},
    "task": {"type": "worker", "index": 1}, "environment": [{"cloud": null, "x": -1.5e3}, "\"]}", true, []] } )");
  ASSERT_EQ(c.jobs.size(), 2u);
  EXPECT_EQ(c.jobs[0].first, "ps");
  EXPECT_EQ(c.jobs[1].second, (std::vector<std::string>{"a:1", "b:1"}));
  EXPECT_EQ(c.task, "worker:1");
  EXPECT_EQ(read_cluster_json(R"({"task":{"index":"0","type":"ps"},"cluster":{"ps":["a:1"]}})").task, "ps:0");
  EXPECT_EQ(read_cluster_json(R"({"cluster":{}})").task, "");
}

TEST(cluster_json, passes_over_what_is_not_for_rill_whatever_its_letters_are) {
  auto const c =
      read_cluster_json(R"({"na\u00efve": "Zo\u00eb", "cluster": {"ps": ["a:1"]}, "x": [{"\ud83d\ude00": "\u4e2d"}]})");
  ASSERT_EQ(c.jobs.size(), 1u);
  EXPECT_EQ(c.jobs[0].second, std::vector<std::string>{"a:1"});
}

TEST(cluster_json, that_is_wrong_is_refused_with_the_place) {
  for (auto const* text :
       {"", "{", "{}", "[]", R"({"cluster": {"ps": "a:1"}})", R"({"cluster": {"ps": [1]}})",
        R"({"cluster": {"ps": ["a]}})", R"({"cluster": {}} x)", R"({"cluster": {}, "task": {"type": "ps"}})",
        R"({"cluster": {"ps": ["\q"]}})", R"({"cluster": {"ps": ["\u00)", R"({"cluster": {"ps": ["unix:\u00e9"]}})",
        "{\"cluster\": {\"ps\": [\"\\u00\x10"
        "1\"]}}",
        R"({"x": ,"cluster": {}})"})
    EXPECT_EQ(refusal([&] { (void)read_cluster_json(text); }), code::invalid_argument) << text;
  EXPECT_NE(sentence([] { (void)read_cluster_json(R"({"cluster": 1})"); }).find("character 13: expected an object"),
            std::string::npos);
  EXPECT_EQ(refusal([] { (void)read_cluster_json("{\"x\":" + std::string(100000, '[')); }), code::invalid_argument);
}

}  // namespace
}  // namespace rill::net
