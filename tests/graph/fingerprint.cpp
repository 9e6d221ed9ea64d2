// Fingerprints tell graphs apart by what they compute.
#include "rill/graph/fingerprint.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "rill/graph/prune.hpp"
#include "rill/rill.hpp"

namespace rill {
namespace {

std::int64_t of_loss(std::function<value(graph&)> const& record, int others = 0) {
  graph g;
  for (int i = 0; i < others; ++i) uniform<float, 3>(g);
  auto const loss = record(g);
  return fingerprint(prune(g, {}, {loss.endpoint()}, {}));
}

TEST(fingerprint, depends_on_what_a_graph_computes) {
  auto const loss = [](std::string const& name, float by, std::string const& device) {
    return [=](graph& g) -> value {
      auto w = g.on(device, [&] { return variable<float, 3>(g, name, zeros()); });
      return sum(dropout(w * by, 0.5, true));
    };
  };
  auto const plain = of_loss(loss("w", 2, ""));
  EXPECT_EQ(plain, of_loss(loss("w", 2, "")));
  EXPECT_EQ(plain, of_loss(loss("w", 2, "/job:ps")));
  EXPECT_EQ(plain, of_loss(loss("w", 2, ""), 5));
  EXPECT_NE(plain, of_loss(loss("v", 2, "")));
  EXPECT_NE(plain, of_loss(loss("w", 3, "")));
}

TEST(fingerprint, looks_into_bodies_and_functions) {
  auto const in_a_loop = [](float by) {
    return of_loss(
        [=](graph& g) -> value { return sum(map([&](auto x) { return x * by; }, constant<float, 2>(g, {1, 2}))); });
  };
  EXPECT_EQ(in_a_loop(2), in_a_loop(2));
  EXPECT_NE(in_a_loop(2), in_a_loop(3));
  auto const in_a_function = [](float by) {
    return of_loss([=](graph& g) -> value {
      auto const f = function<"scaled", of<float>>(g, [&](auto x) { return x * by; });
      return f(constant(g, 1.f));
    });
  };
  EXPECT_EQ(in_a_function(2), in_a_function(2));
  EXPECT_NE(in_a_function(2), in_a_function(3));
}

}  // namespace
}  // namespace rill
