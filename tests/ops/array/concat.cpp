#include "rill/ops/array/concat.hpp"

#include "../run.hpp"
#include "base/sentence.hpp"
#include "rill/grad/gradients.hpp"

namespace rill {
namespace {

TEST(concat, puts_values_behind_each_other_along_any_axis) {
  for (auto d : {dtype::float32, dtype::int8, dtype::boolean, dtype::complex128, dtype::string})
    for (int axis : {0, 1, 2, -1}) {
      auto const at = static_cast<std::size_t>(axis < 0 ? axis + 3 : axis);
      std::vector<tensor> parts;
      for (int extent : {2, 0, 3}) {
        shape s{2, 3, 4};
        s[at] = extent;
        parts.push_back(test::scattered(d, s, static_cast<unsigned>(extent)));
      }
      auto const y = test::run([&](auto const& in) { return concat(in, axis); }, parts);
      ASSERT_EQ(y.shape()[at], 5);
      for (std::int64_t i = 0; i < y.shape()[0]; ++i)
        for (std::int64_t j = 0; j < y.shape()[1]; ++j)
          for (std::int64_t k = 0; k < y.shape()[2]; ++k) {
            std::int64_t place[3] = {i, j, k};
            auto const& part = parts[place[at] < 2 ? 0 : 2];
            if (place[at] >= 2) place[at] -= 2;
            visit(d, [&]<class T>() { EXPECT_EQ(y.at<T>(i, j, k), part.at<T>(place[0], place[1], place[2])); });
          }
    }
}

TEST(concat, knows_its_type_while_the_program_is_compiled) {
  graph g;
  auto a = placeholder<float, "n", 2>(g);
  auto b = placeholder<float, "n", 3>(g);
  auto y = concat<1>(a, b);
  static_assert(decltype(y)::static_type == of<float, "n", 5>);
  auto z = concat<0>(a, a);
  static_assert(decltype(z)::static_type == of<float, unknown, 2>);
  auto [da, db] = gradients(sum(y * y), a, b);
  session s{g};
  auto const [x, w] = s.run({{a, matrix<float>({{1, 2}})}, {b, matrix<float>({{3, 4, 5}})}}, da, db);
  EXPECT_EQ(test::to_doubles(x), (std::vector<double>{2, 4}));
  EXPECT_EQ(test::to_doubles(w), (std::vector<double>{6, 8, 10}));
}

TEST(concat, refuses_values_that_do_not_fit) {
  graph g;
  auto const p = [&](type const& t) { return placeholder(g, t); };
  auto const refuses = [](char const* words, auto f) { test::expect_error(code::invalid_argument, words, f); };
  refuses("differ along another axis", [&] { concat({p(of<float, 2, 3>), p(of<float, 3, 3>)}, 1); });
  refuses("different ranks", [&] { concat({p(of<float, 2, 3>), p(of<float, 2>)}, 0); });
  refuses("different element types", [&] { concat({p(of<float, 2>), p(of<int, 2>)}, 0); });
  refuses("out of range for the operands' rank", [&] { concat({p(of<float, 2>), p(of<float, 2>)}, 1); });
  refuses("out of range for the operands' rank", [&] { concat({p(of<float>), p(of<float>)}, 0); });
  refuses("does not fit in 64 bits", [&] { concat({p(of<float, INT64_MAX, 0>), p(of<float, 1, 0>)}, 0); });
  refuses("there are no operands", [&] { concat(std::vector<value>{}, 0); });
  refuses("number of the operand is out of range",
          [&] { concat_piece(p(of<float, 4>), {p(of<float, 2>), p(of<float, 2>)}, 0, 2); });
  refuses("does not have the extents of the concat",
          [&] { concat_piece(p(of<float, 5>), {p(of<float, 2>), p(of<float, 2>)}, 0, 1); });
}

TEST(concat, of_one_operand_checks_the_axis) {
  graph g;
  value const x = constant<float, 2>(g, {1, 2});
  EXPECT_EQ(concat({x}, -1), x);
  EXPECT_EQ(refusal([&] { concat({x}, 1); }), code::invalid_argument);
  EXPECT_EQ(refusal([&] { concat({value(constant(g, 1.f))}, 0); }), code::invalid_argument);
}

}  // namespace
}  // namespace rill
