#include "rill/ops/table/gather_axis.hpp"

#include "../run.hpp"

namespace rill {
namespace {

TEST(gather_along_an_axis, takes_the_same_positions_everywhere) {
  graph g;
  auto const x = placeholder<float, "n", 3>(g);
  auto const which = placeholder<int, 2, "k">(g);
  static_assert(decltype(gather<1>(x, which))::static_type == of<float, "n", 2, "k">);
  static_assert(decltype(gather<0>(x, which))::static_type == of<float, 2, "k", 3>);
  auto const in = matrix<std::string>({{"a", "b", "long enough to be on the heap"}, {"d", "", "f"}});
  auto const y = test::run([](auto const& each) { return gather(each[0], each[1], 1); }, {in, vector<int>({2, 0})});
  EXPECT_TRUE(same_bits(y, matrix<std::string>({{"long enough to be on the heap", "a"}, {"f", "d"}})));
}

TEST(gather_along_an_axis, and_the_scatter_that_is_its_derivative_have_the_same_bits_on_any_number_of_threads) {
  std::vector<double> indices;
  for (int i = 0; i < 700; ++i) indices.push_back(i * i % 50);
  auto const which = test::from_doubles(dtype::int64, {700}, indices);
  for (auto const& extents : {shape{40, 50, 7}, shape{2, 50, 90}, shape{300, 50, 1}}) {
    auto const x = test::scattered(dtype::float32, extents);
    auto const forth = [](auto const& in) { return gather(in[0], in[1], 1); };
    auto const y = test::run(forth, {x, which}, 1);
    EXPECT_TRUE(same_bits(y, test::run(forth, {x, which}, 4)));
    for (std::int64_t i : {0, 1, 699})
      EXPECT_EQ(y.at<float>(1, i, 0),
                x.at<float>(1, static_cast<std::int64_t>(indices[static_cast<std::size_t>(i)]), 0));
    auto const back = [](auto const& in) { return scatter_axis(in[0], in[1], in[2], 1); };
    EXPECT_TRUE(same_bits(test::run(back, {which, y, x}, 1), test::run(back, {which, y, x}, 4)));
  }
}

TEST(gather_along_an_axis, names_an_index_that_is_outside) {
  for (double bad : {-1., 3., 2147483647., -2147483648.}) {
    auto const which = test::from_doubles(dtype::int32, {3}, {0, bad, 1});
    test::expect_error(code::invalid_argument,
                       "index 1 is " + std::to_string(static_cast<std::int64_t>(bad)) + ", and axis 1 has 3 elements",
                       [&] {
                         test::run([](auto const& in) { return gather(in[0], in[1], -1); },
                                   {test::counting(dtype::float32, {2, 3}), which});
                       });
    test::expect_error(code::invalid_argument, "and axis 0 has 3 elements", [&] {
      test::run([](auto const& in) { return scatter_axis(in[0], in[1], in[2], 0); },
                {which, test::counting(dtype::float32, {3, 2}), test::counting(dtype::float32, {3, 2})});
    });
  }
}

TEST(gather_along_an_axis, refuses_what_does_not_fit) {
  graph g;
  auto const x = placeholder(g, of<float, 2, 3>), which = placeholder(g, of<int, 2>);
  auto const refuses = [](char const* why, auto f) { test::expect_error(code::invalid_argument, why, f); };
  refuses("out of range for the operand's rank", [&] { gather(x, which, 2); });
  refuses("neither int32 nor int64", [&] { gather(x, x, 1); });
  refuses("does not have the extents of what is gathered", [&] { scatter_axis(which, x, x, 1); });
  refuses("not of numbers", [&] { scatter_axis(which, placeholder(g, of<bool, 2, 2>), x, 1); });
}

}  // namespace
}  // namespace rill
