#include "rill/ops/base/string_kernels.hpp"

#include "../run.hpp"
#include "rill/ops/array/transpose.hpp"
#include "rill/ops/math/comparison.hpp"
#include "rill/ops/math/select.hpp"

namespace rill {
namespace {

TEST(strings, are_equal_or_not_and_broadcast) {
  tensor a(dtype::string, shape{2, 1}), b(dtype::string, shape{3});
  a.mutable_data<std::string>()[0] = "x";
  a.mutable_data<std::string>()[1] = "";
  b.mutable_data<std::string>()[0] = "x";
  b.mutable_data<std::string>()[1] = "y";
  auto const y = test::run([](auto const& in) { return equal(in[0], in[1]); }, {a, b});
  EXPECT_EQ(y.shape(), (shape{2, 3}));
  EXPECT_EQ(test::to_doubles(y), (std::vector<double>{1, 0, 0, 0, 0, 1}));
  EXPECT_EQ(test::run([](auto const& in) { return equal(in[0], in[1]); }, {a, tensor(dtype::string, shape{0})}).shape(),
            (shape{2, 0}));
}

TEST(strings, are_ordered_by_their_bytes) {
  auto const a = matrix<std::string>({{"b"}, {"\xff"}});
  auto const b = vector<std::string>({"", "b", "ba"});
  auto const ask = [&](auto f) {
    return test::to_doubles(test::run([f](auto const& in) { return f(in[0], in[1]); }, {a, b}));
  };
  using list = std::vector<double>;
  EXPECT_EQ(ask([](value x, value y) { return x < y; }), (list{0, 0, 1, 0, 0, 0}));
  EXPECT_EQ(ask([](value x, value y) { return x <= y; }), (list{0, 1, 1, 0, 0, 0}));
  EXPECT_EQ(ask([](value x, value y) { return x > y; }), (list{1, 0, 0, 1, 1, 1}));
  EXPECT_EQ(ask([](value x, value y) { return x >= y; }), (list{1, 1, 0, 1, 1, 1}));
}

TEST(strings, are_selected_and_broadcast) {
  auto const condition = matrix<bool>({{true}, {false}});
  auto const x = vector<std::string>({"a", "b"});
  tensor const y(std::string("c"));
  auto const choose = [](auto const& in) { return select(in[0], in[1], in[2]); };
  EXPECT_TRUE(same_bits(test::run(choose, {condition, x, y}), matrix<std::string>({{"a", "b"}, {"c", "c"}})));
  EXPECT_EQ(test::run(choose, {tensor(dtype::boolean, {0, 1}), x, y}).shape(), (shape{0, 2}));

  graph g;  // typed handles too
  auto s = placeholder<std::string, 2>(g);
  auto chosen = select(s < s, s, s);
  static_assert(decltype(chosen)::static_type == of<std::string, 2>);
  session run{g};
  EXPECT_TRUE(same_bits(run.run({{s, tensor_of<of<std::string, 2>>(x)}}, chosen), x));
}

TEST(strings, are_transposed) {
  auto const x = matrix<std::string>({{"a", "b", "c"}, {"d", "e", "a string that does not fit its own object"}});
  auto const y = test::run([](auto const& in) { return transpose(in[0], {}); }, {x});
  EXPECT_TRUE(
      same_bits(y, matrix<std::string>({{"a", "d"}, {"b", "e"}, {"c", "a string that does not fit its own object"}})));
  auto const none = test::run([](auto const& in) { return transpose(in[0], {}); }, {tensor(dtype::string, {0, 2})});
  EXPECT_EQ(none.shape(), (shape{2, 0}));
}

}  // namespace
}  // namespace rill
