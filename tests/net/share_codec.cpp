// Shares of steps as bytes, and bytes that are none.
#include "rill/net/share_codec.hpp"

#include <gtest/gtest.h>

#include <rill/rill.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "base/sentence.hpp"
#include "rill/ops/list/registry.hpp"

namespace rill::net {
namespace {

// A loop, a branch and a call, with a variable.
std::string a_share() {
  graph g(3);
  auto const x = placeholder<float, 2>(g, "x");
  auto const w = variable<float, 2>(g, "w", zeros());
  auto const twice = function<"twice", of<float, 2>>(g, [&](auto a) { return a + a * w; });
  auto const y =
      std::get<1>(while_loop([](auto i, auto) { return i < 3; },
                             [&](auto i, auto a) { return std::tuple(i + 1, twice(a) + w); }, constant(g, 0), x));
  auto const z = cond(sum(y) > 0.f, [&] { return y; }, [&] { return w * 2.f; });
  subgraph sub;
  for (std::size_t i = 0; i < g.size(); ++i) {
    sub.nodes.push_back(g[i]);
    sub.origin.push_back(0);
  }
  sub.outputs = {z.endpoint()};
  return share_as_bytes(sub, {},
                        {.tasks = {device_name::parse("/job:worker/task:0"), device_name::parse("/job:ps/task:1")}});
}
std::string again(std::string_view bytes) {
  auto const s = share_from_bytes(bytes, all_operations());
  return share_as_bytes(s.nodes, s.fed, s.how);
}

TEST(share_codec, reads_what_it_wrote) {
  auto const bytes = a_share();
  EXPECT_EQ(again(bytes), bytes);
  EXPECT_EQ(share_from_bytes(bytes, all_operations()).how.tasks[1].text(), "/job:ps/task:1");
}

TEST(share_codec, names_an_operation_that_is_not_known) {
  static auto const few = all_operations().first(0);
  auto const e = error_of([&] { (void)share_from_bytes(a_share(), few); });
  EXPECT_EQ(e.code(), code::not_found);
  EXPECT_NE(e.message().find("the operation '"), std::string::npos) << e.message();
}

TEST(share_codec, refuses_a_share_that_ends_too_early_or_too_late) {
  auto const bytes = a_share();
  for (std::size_t n = 0; n < bytes.size(); ++n)
    EXPECT_NE(sentence([&] { (void)again(std::string_view(bytes).substr(0, n)); }), "") << n;
  EXPECT_EQ(refusal([&] { (void)again(bytes + "x"); }), code::data_loss);
}

TEST(share_codec, refuses_a_share_with_a_changed_bit_or_reads_another) {
  auto const bytes = a_share();
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    auto changed = bytes;
    changed[i] = static_cast<char>(changed[i] ^ (1 << i % 8));
    std::string once;
    try {
      once = again(changed);
    } catch (error const&) {
      continue;  // and any other exception fails the test
    }
    EXPECT_EQ(again(once), once) << i;
  }
}

TEST(share_codec, refuses_types_for_other_inputs_than_there_are) {
  subgraph const none;
  auto const bytes = share_as_bytes(none, {of<float, 2>}, {});
  EXPECT_NE(sentence([&] { (void)again(bytes); }).find("types for other inputs"), std::string::npos);
}

}  // namespace
}  // namespace rill::net
