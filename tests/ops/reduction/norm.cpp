#include "rill/ops/reduction/norm.hpp"

#include "../run.hpp"
#include "rill/grad/gradients.hpp"

namespace rill {
namespace {

using list = std::vector<double>;

TEST(norm, has_a_static_type_of_real_numbers) {
  graph g;
  auto x = placeholder<float, "n", 2>(g, "x");
  auto z = placeholder<std::complex<double>, 2>(g, "z");
  auto a = norm(x);
  auto b = norm<1>(x, keep, 1);
  auto c = norm<0>(x, INFINITY);
  auto e = norm(z);
  static_assert(decltype(norm<1>(x))::static_type == of<float, "n">);
  static_assert(decltype(b)::static_type == of<float, "n", 1>);
  static_assert(decltype(e)::static_type == of<double>);
  session s{g};
  auto const [p, q, r, t] = s.run(
      {{x, matrix<float>({{3, -4}, {0, 12}})}, {z, rill::vector<std::complex<double>>({{3, 4}, {0, 12}})}}, a, b, c, e);
  EXPECT_EQ(p.item<float>(), 13);
  EXPECT_EQ(test::to_doubles(q), (list{7, 12}));
  EXPECT_EQ(test::to_doubles(r), (list{3, 12}));
  EXPECT_EQ(t.item<double>(), 13);
}

TEST(norm, has_derivatives_of_0_where_it_is_0) {
  for (double p : {1., 2., 2.5, static_cast<double>(INFINITY)})
    for (auto d : {dtype::float64, dtype::complex128}) {
      tensor zeros(d, shape{2, 2});
      std::memset(zeros.mutable_raw(), 0, zeros.bytes());
      auto const slope = test::run(
          [&](auto const& in) {
            return cast(gradients(sum(norm(in[0], extents{1}, false, p), extents{}), {in[0]}, true)[0], dtype::float64);
          },
          {zeros});
      EXPECT_EQ(test::to_doubles(slope), list(4, 0)) << p << name(d);
    }
}

TEST(norm, of_nothing_is_0_and_of_what_is_not_a_number_is_none) {
  auto const of = [](tensor const& x) {
    return test::run([](auto const& in) { return norm(in[0], extents{0}); }, {x}).template item<double>();
  };
  EXPECT_EQ(of(tensor(dtype::float64, shape{0})), 0);
  EXPECT_TRUE(std::isnan(of(test::from_doubles(dtype::float64, {2}, {NAN, 1}))));
  EXPECT_EQ(of(test::from_doubles(dtype::float64, {2}, {-INFINITY, 1})), INFINITY);
}

TEST(norm, refuses_orders_below_1_and_integers) {
  graph g;
  auto const x = placeholder(g, of<float, 2>), i = placeholder(g, of<int, 2>);
  test::expect_error(code::invalid_argument, "order is at least 1", [&] { norm(x, extents{}, false, 0.5); });
  test::expect_error(code::invalid_argument, "order is at least 1", [&] { norm(x, extents{}, false, NAN); });
  test::expect_error(code::invalid_argument, "norm: the operand is not of floats", [&] { norm(i); });
}

}  // namespace
}  // namespace rill
