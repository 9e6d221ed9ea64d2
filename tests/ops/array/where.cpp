#include "rill/ops/array/where.hpp"

#include "../run.hpp"
#include "rill/rill.hpp"

namespace rill {
namespace {

static_assert(ops::where_op::infer({}, of<bool, "n">) == of<std::int64_t, unknown>);

TEST(where, finds_what_is_true) {
  auto const found = [](std::vector<double> const& truth) {
    return test::to_doubles(
        test::run([](auto const& in) { return where(in[0]); },
                  {test::from_doubles(dtype::boolean, {static_cast<std::int64_t>(truth.size())}, truth)}));
  };
  EXPECT_EQ(found({1, 0, 0, 1, 1}), (std::vector<double>{0, 3, 4}));
  EXPECT_EQ(found({0, 0}), (std::vector<double>{}));
  EXPECT_EQ(found({}), (std::vector<double>{}));
}

TEST(where, takes_rows_through_whose_choice_a_gradient_goes) {
  graph g;
  auto const x = placeholder<float, "n", 2>(g, "x");
  auto const chosen = where(max<1>(x) > 2.f);
  auto const rows = gather(x, chosen);
  static_assert(decltype(rows)::static_type == of<float, unknown, 2>);
  auto const [dx] = gradients(sum(square(rows)), x);
  session s{g};
  for (int again : {0, 1}) {
    auto const [which, some, slope] =
        s.run({{x, matrix<float>({{1, 2}, {3, -1}, {static_cast<float>(again), 5}})}}, chosen, rows, dx);
    EXPECT_EQ(test::to_doubles(which), (std::vector<double>{1, 2}));
    EXPECT_EQ(test::to_doubles(some), (std::vector<double>{3, -1, static_cast<double>(again), 5}));
    EXPECT_EQ(test::to_doubles(slope), (std::vector<double>{0, 0, 6, -2, 2. * again, 10}));
  }
  EXPECT_EQ(s.run({{x, matrix<float>({{1, 2}})}}, rows).shape(), (shape{0, 2}));
}

TEST(where, refuses_what_is_no_list_of_truth_values) {
  graph g;
  auto const refuses = [](char const* words, auto f) { test::expect_error(code::invalid_argument, words, f); };
  refuses("not a bool", [&] { where(placeholder(g, of<float, 2>)); });
  refuses("not a vector", [&] { where(placeholder(g, of<bool, 2, 2>)); });
}

}  // namespace
}  // namespace rill
