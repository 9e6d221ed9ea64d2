#include "rill/ops/reduction/all.hpp"

#include "../run.hpp"
#include "rill/ops/math/comparison.hpp"

namespace rill {
namespace {

tensor truths(shape const& extents, std::vector<double> const& v) {
  return test::from_doubles(dtype::boolean, extents, v);
}

TEST(all, and_any_go_over_axes_and_over_everything) {
  auto const x = truths({2, 3}, {1, 1, 1, 0, 0, 1});
  auto const of = [&](auto f) { return test::to_doubles(test::run([&](auto const& in) { return f(in[0]); }, {x})); };
  EXPECT_EQ(of([](value v) { return all(v, extents{1}); }), (std::vector<double>{1, 0}));
  EXPECT_EQ(of([](value v) { return any(v, extents{0}); }), (std::vector<double>{1, 1, 1}));
  EXPECT_EQ(of([](value v) { return all(v, extents{0}, true); }), (std::vector<double>{0, 0, 1}));
  EXPECT_EQ(of([](value v) { return all(v, {}); }), (std::vector<double>{0}));
  EXPECT_EQ(of([](value v) { return any(v, {}); }), (std::vector<double>{1}));
}

TEST(all, of_nothing_is_true_and_any_is_false) {
  for (auto const& extents_of : {shape{0}, shape{3, 0}}) {
    auto const none = tensor(dtype::boolean, extents_of);
    auto const every = test::run([](auto const& in) { return all(in[0], extents{-1}); }, {none});
    auto const some = test::run([](auto const& in) { return any(in[0], extents{-1}); }, {none});
    for (bool each : every.span<bool>()) EXPECT_EQ(each, true);
    for (bool each : some.span<bool>()) EXPECT_EQ(each, false);
    for (auto const byte : std::as_bytes(every.span<bool>())) EXPECT_EQ(byte, std::byte{1});
  }
}

TEST(all, finds_one_that_differs_at_any_place) {
  for (std::size_t at : {0u, 15u, 16u, 4095u, 4096u, 9999u}) {
    std::vector<double> v(10000, 1);
    v[at] = 0;
    EXPECT_FALSE(test::run([](auto const& in) { return all(in[0], {}); }, {truths({10000}, v)}).item<bool>());
    for (auto& each : v) each = 1 - each;
    EXPECT_TRUE(test::run([](auto const& in) { return any(in[0], {}); }, {truths({10000}, v)}).item<bool>());
  }
}

TEST(all, takes_comparisons_and_refuses_numbers) {
  graph g;
  auto const x = placeholder<float, 3>(g);
  auto const positive = all(x > 0.f);
  static_assert(decltype(positive)::static_type == of<bool>);
  static_assert(decltype(any<0>(x > 0.f, keep))::static_type == of<bool, 1>);
  session s{g};
  EXPECT_TRUE(s.run({{x, vector<float>({1, 2, 3})}}, positive).item<bool>());
  EXPECT_FALSE(s.run({{x, vector<float>({1, -2, 3})}}, positive).item<bool>());
  test::expect_error(code::invalid_argument, "the operand is not of bools", [&] { all(value(x), {}); });
  test::expect_error(code::invalid_argument, "as in all(x > 0)", [&] { any(value(x), {}); });
}

}  // namespace
}  // namespace rill
