#include "rill/ops/math/comparison.hpp"

#include "../run.hpp"
#include "rill/ops/list/fuse.hpp"

namespace rill {
namespace {

TEST(equal, is_false_for_NaN) {
  auto const x = test::from_doubles(dtype::float16, {2}, {NAN, 1});
  EXPECT_EQ(test::to_doubles(test::run([](auto const& in) { return equal(in[0], in[0]); }, {x})),
            (std::vector<double>{0, 1}));
}

TEST(comparison, of_strings_joins_no_fused_group) {
  tensor a(dtype::string, shape{2});
  a.mutable_data<std::string>()[0] = "x";
  auto const y = test::run([](auto const& in) { return equal(equal(in[0], in[0]), equal(in[1], in[1])); },
                           {a, test::counting(dtype::int8, {2})});
  EXPECT_EQ(test::to_doubles(y), (std::vector<double>{1, 1}));
}

std::vector<double> compared(value (*f)(value, value)) {
  auto const x = test::from_doubles(dtype::float32, {5}, {1, 2, 3, NAN, NAN});
  auto const y = test::from_doubles(dtype::float32, {5}, {2, 2, 2, 2, NAN});
  return test::to_doubles(test::run([f](auto const& in) { return f(in[0], in[1]); }, {x, y}));
}

TEST(comparison, of_NaN_is_false_but_for_not_equal) {
  using list = std::vector<double>;
  EXPECT_EQ(compared([](value x, value y) { return x < y; }), (list{1, 0, 0, 0, 0}));
  EXPECT_EQ(compared([](value x, value y) { return x <= y; }), (list{1, 1, 0, 0, 0}));
  EXPECT_EQ(compared([](value x, value y) { return x > y; }), (list{0, 0, 1, 0, 0}));
  EXPECT_EQ(compared([](value x, value y) { return x >= y; }), (list{0, 1, 1, 0, 0}));
  EXPECT_EQ(compared([](value x, value y) { return x == y; }), (list{0, 1, 0, 0, 0}));
  EXPECT_EQ(compared([](value x, value y) { return x != y; }), (list{1, 0, 1, 1, 1}));
}

TEST(logical, operators_combine_comparisons) {
  graph g;
  auto x = placeholder<float, 5>(g, "x");
  auto inside = (x >= 1.f) & (x <= 3.f), outside = ~inside ^ (x == 3.f);
  static_assert(decltype(inside)::static_type == of<bool, 5>);
  auto fused = fuse<"either">([](auto v) { return select(((v >= 1.f) & (v != 2.f)) | ~(v > -1.f), v, v * 0.f); }, x);
  session s{g};
  auto const [a, b, c] = s.run({{x, rill::vector<float>({0, 1, 2, 3, -4})}}, inside, outside, fused);
  EXPECT_EQ(test::to_doubles(a), (std::vector<double>{0, 1, 1, 1, 0}));
  EXPECT_EQ(test::to_doubles(b), (std::vector<double>{1, 0, 0, 1, 1}));
  EXPECT_EQ(test::to_doubles(c), (std::vector<double>{0, 1, 0, 3, -4}));
}

TEST(comparison, takes_a_number_on_either_side_by_name_and_by_operator) {
  graph g;
  auto const x = placeholder<float, 3>(g, "x");
  value const erased = x;
  session s{g};
  auto const expect = [&](value v, std::vector<double> const& want) {
    tensor const numbers = rill::vector<float>({0, 1, 2});
    EXPECT_EQ(test::to_doubles(s.run({{x, numbers}}, v)), want);
  };
  using list = std::vector<double>;
  for (value v : {value(less(x, 1.f)), value(x < 1.f), value(greater(1.f, x)), value(1.f > x), less(erased, 1)})
    expect(v, list{1, 0, 0});
  for (value v : {value(less_equal(x, 1.f)), value(x <= 1.f), value(greater_equal(1.f, x)), value(1.f >= x)})
    expect(v, list{1, 1, 0});
  for (value v : {value(greater(x, 1.f)), value(x > 1.f), value(less(1.f, x)), value(1.f < x)})
    expect(v, list{0, 0, 1});
  for (value v : {value(greater_equal(x, 1.f)), value(x >= 1.f), value(less_equal(1.f, x)), value(1.f <= x)})
    expect(v, list{0, 1, 1});
  for (value v : {value(equal(x, 1.f)), value(equal(1.f, x)), value(x == 1.f), value(1.f == x)})
    expect(v, list{0, 1, 0});
  for (value v : {value(not_equal(x, 1.f)), value(not_equal(1.f, x)), value(x != 1.f), value(1.f != x)})
    expect(v, list{1, 0, 1});
}

TEST(is_nan, is_inf_and_is_finite_tell_the_kinds_of_floats_apart) {
  for (auto d : {dtype::float16, dtype::bfloat16, dtype::float32, dtype::float64}) {
    auto const x = test::from_doubles(d, {5}, {NAN, INFINITY, -INFINITY, 0, 6e4});
    auto const kinds = [&](value (*f)(value)) {
      return test::to_doubles(test::run([f](auto const& in) { return f(in[0]); }, {x}));
    };
    EXPECT_EQ(kinds([](value v) { return is_nan(v); }), (std::vector<double>{1, 0, 0, 0, 0}));
    EXPECT_EQ(kinds([](value v) { return is_inf(v); }), (std::vector<double>{0, 1, 1, 0, 0}));
    EXPECT_EQ(kinds([](value v) { return is_finite(v); }), (std::vector<double>{0, 0, 0, 1, 1}));
  }
  graph g;
  test::expect_error(code::invalid_argument, "does not support this element type",
                     [&] { is_nan(value(placeholder(g, of<int, 2>))); });
}

TEST(logical, operations_take_truth_values_alone) {
  graph g;
  auto const x = placeholder(g, of<float, 2>);
  for (auto f : {+[](value v) { return v & v; }, +[](value v) { return v | v; }, +[](value v) { return v ^ v; },
                 +[](value v) { return ~v; }})
    test::expect_error(code::invalid_argument, "does not support this element type", [&] { f(x); });
}

}  // namespace
}  // namespace rill
