#include "rill/ops/table/boolean_mask.hpp"

#include "../run.hpp"
#include "rill/grad/gradients.hpp"
#include "rill/ops/math/arithmetic.hpp"

namespace rill {
namespace {

TEST(boolean_mask, keeps_rows_or_elements_in_their_order) {
  graph g;
  auto const x = placeholder<float, "n", 2>(g);
  auto const rows = boolean_mask(x, placeholder<bool, "n">(g, "rows"));
  static_assert(decltype(rows)::static_type == of<float, unknown, 2>);
  auto const elements = boolean_mask(x, x > 1.5f);
  static_assert(decltype(elements)::static_type == of<float, unknown>);
  auto const [dx] = gradients(sum(square(elements)), x);
  session s{g};
  auto const in = matrix<float>({{1, 2}, {3, 0}, {0, 4}});
  EXPECT_TRUE(
      same_bits(s.run({{x, in}, {"rows", vector<bool>({true, false, true})}}, rows), matrix<float>({{1, 2}, {0, 4}})));
  auto const [e, d] = s.run({{x, in}}, elements, dx);
  EXPECT_TRUE(same_bits(e, vector<float>({2, 3, 4})));
  EXPECT_TRUE(same_bits(d, matrix<float>({{0, 4}, {6, 0}, {0, 8}})));
  EXPECT_EQ(s.run({{x, in}, {"rows", vector<bool>({false, false, false})}}, rows).shape(), (shape{0, 2}));
}

TEST(boolean_mask, refuses_a_mask_of_other_extents) {
  graph g;
  auto const x = placeholder(g, of<float, unknown, 2>), mask = placeholder(g, of<bool, unknown>);
  auto const y = boolean_mask(x, mask);
  auto const refuses = [](char const* why, auto f) { test::expect_error(code::invalid_argument, why, f); };
  session s{g};
  for (auto const& bad : {vector<bool>({true}), vector<bool>({true, false, true})})
    refuses("the number of elements changes",
            [&] { s.run({{x, test::counting(dtype::float32, {2, 2})}, {mask, bad}}, y); });
  refuses("not a bool", [&] { boolean_mask(x, x); });
  refuses("at least 1", [&] { boolean_mask(x, placeholder(g, of<bool>)); });
  refuses("does not have the extents of the operand's first axes",
          [&] { boolean_mask(x, placeholder(g, of<bool, 4, 3>)); });
  refuses("more axes than the operand", [&] { boolean_mask(x, placeholder(g, of<bool, 4, 2, 1>)); });
}

}  // namespace
}  // namespace rill
