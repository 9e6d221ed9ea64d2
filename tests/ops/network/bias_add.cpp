#include "rill/ops/network/bias_add.hpp"

#include "../run.hpp"

namespace rill {
namespace {

static_assert(ops::bias_add_op::infer({}, of<float, "n", unknown>, of<float, 3>) == of<float, "n", 3>);

TEST(bias_add, adds_to_each_channel) {
  auto const y =
      test::run([](auto const& in) { return bias_add(in[0], in[1]); },
                {test::counting(dtype::int32, {2, 2, 3}), test::from_doubles(dtype::int32, {3}, {10, 20, 30})});
  EXPECT_EQ(test::to_doubles(y), (std::vector<double>{11, 22, 33, 14, 25, 36, 17, 28, 39, 20, 31, 42}));
}

TEST(bias_add, refuses_what_is_not_one_number_for_each_channel) {
  graph g;
  auto const p = [&](type const& t) { return placeholder(g, t); };
  auto const refuses = [](char const* words, auto f) { test::expect_error(code::invalid_argument, words, f); };
  refuses("not one bias for each channel", [&] { bias_add(p(of<float, 2, 3>), p(of<float, 2>)); });
  refuses("not one bias for each channel", [&] { bias_add(p(of<float, 2, 3>), p(of<float, 1>)); });
  refuses("not a vector", [&] { bias_add(p(of<float, 2, 3>), p(of<float, 2, 3>)); });
  refuses("a scalar has no channels", [&] { bias_add(p(of<float>), p(of<float, 1>)); });
}

}  // namespace
}  // namespace rill
