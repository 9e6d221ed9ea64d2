#include "rill/ops/math/bits.hpp"

#include "../run.hpp"
#include "rill/grad/gradients.hpp"
#include "rill/ops/list/fuse.hpp"
#include "rill/ops/math/comparison.hpp"

namespace rill {
namespace {

TEST(bits, operators_are_of_bits_for_integers_and_logic_for_bools) {
  graph g;
  auto x = placeholder<int, 3>(g, "x"), y = placeholder<int, 3>(g, "y");
  auto p = placeholder<bool, 3>(g, "p"), q = placeholder<bool, 3>(g, "q");
  static_assert(decltype(x & y)::static_type == of<int, 3>);
  static_assert(decltype(p ^ q)::static_type == of<bool, 3>);
  value const u = x, v = y, a = p, b = q;  // of types that only the run of the program knows
  session s{g};
  feed const feeds[]{{x, rill::vector<int>({12, -1, 5})},
                     {y, rill::vector<int>({10, 7, 0})},
                     {p, rill::vector<bool>({true, true, false})},
                     {q, rill::vector<bool>({true, false, false})}};
  auto const get = [&](value w) { return test::to_doubles(s.run(std::span<feed const>(feeds), w)); };
  using list = std::vector<double>;
  for (auto const& r : {value(x & y), u & v, value(bit_and(x, y))}) EXPECT_EQ(get(r), (list{8, 7, 0}));
  for (auto const& r : {value(x | y), u | v, value(bit_or(x, y))}) EXPECT_EQ(get(r), (list{14, -1, 5}));
  for (auto const& r : {value(x ^ y), u ^ v, value(bit_xor(x, y))}) EXPECT_EQ(get(r), (list{6, -8, 5}));
  for (auto const& r : {value(~x), ~u, value(bit_not(x))}) EXPECT_EQ(get(r), (list{-13, 0, -6}));
  for (auto const& r : {value(p & q), a & b}) EXPECT_EQ(get(r), (list{1, 0, 0}));
  for (auto const& r : {value(p | q), a | b}) EXPECT_EQ(get(r), (list{1, 1, 0}));
  for (auto const& r : {value(p ^ q), a ^ b}) EXPECT_EQ(get(r), (list{0, 1, 0}));
  for (auto const& r : {value(~p), ~a}) EXPECT_EQ(get(r), (list{0, 0, 1}));
}

TEST(bits, take_a_number_on_either_side) {
  graph g;
  auto x = placeholder<std::uint8_t, 3>(g, "x");
  session s{g};
  auto const [a, b, c, d, e, f] =
      s.run({{x, rill::vector<std::uint8_t>({1, 130, 3})}}, x & 3, 4 | x, x ^ 255, x << 1, 1 << x, x >> 1);
  using list = std::vector<double>;
  EXPECT_EQ(test::to_doubles(a), (list{1, 2, 3}));
  EXPECT_EQ(test::to_doubles(b), (list{5, 134, 7}));
  EXPECT_EQ(test::to_doubles(c), (list{254, 125, 252}));
  EXPECT_EQ(test::to_doubles(d), (list{2, 4, 6}));
  EXPECT_EQ(test::to_doubles(e), (list{2, 0, 8}));  // all bits leave
  EXPECT_EQ(test::to_doubles(f), (list{0, 65, 1}));
}

TEST(bits, of_a_hash_are_computed_in_one_lambda_of_fuse) {
  graph g;
  auto x = placeholder<std::uint32_t, 4>(g, "x");
  auto const mixed = [](auto v) {
    auto const w = (v ^ (v >> 16)) * 0x45d9f3b;
    return bit_xor(w, w >> 13) | (~w & 1);
  };
  auto const together = fuse(mixed, x);
  session s{g};
  auto const [a, b] = s.run({{x, rill::vector<std::uint32_t>({0, 1, 77, 4000000000u})}}, together, mixed(x));
  EXPECT_TRUE(same_bits(a, b));
  std::uint32_t const v = 4000000000u, w = (v ^ (v >> 16)) * 0x45d9f3bu;
  EXPECT_EQ(a.data<std::uint32_t>()[3], (w ^ (w >> 13)) | (~w & 1));
}

TEST(bits, are_those_of_integers_alone) {
  graph g;
  for (auto d : {dtype::float32, dtype::boolean, dtype::complex64}) {
    auto const x = placeholder(g, type(d, {2}));
    for (auto f :
         {+[](value v) { return bit_and(v, v); }, +[](value v) { return bit_not(v); }, +[](value v) { return v << v; }})
      test::expect_error(code::invalid_argument, "only integers have bits", [&] { f(x); });
  }
  auto const x = placeholder(g, type(dtype::int32, {2})), y = placeholder(g, type(dtype::int64, {2}));
  test::expect_error(code::invalid_argument, "different element types", [&] { x & y; });
  test::expect_error(code::invalid_argument, "empty handle", [&] { value() & y; });
}

}  // namespace
}  // namespace rill
