#include "rill/ops/math/complex.hpp"

#include "../run.hpp"
#include "rill/grad/gradients.hpp"
#include "rill/ops/list/fuse.hpp"

namespace rill {
namespace {

using list = std::vector<double>;
using number = std::complex<double>;

TEST(complex, has_parts_of_the_matching_real_type) {
  graph g;
  auto x = placeholder<float, 2>(g, "x");
  auto z = complex(x, 2.f * x);
  static_assert(decltype(z)::static_type == of<std::complex<float>, 2>);
  static_assert(decltype(real(z))::static_type == of<float, 2>);
  static_assert(decltype(imag(z))::static_type == of<float, 2>);
  static_assert(decltype(abs(z))::static_type == of<float, 2>);
  static_assert(decltype(angle(z))::static_type == of<float, 2>);
  session s{g};
  auto const [a, b, c, d] =
      s.run({{x, rill::vector<float>({1, -2})}}, real(z), imag(z), real(x), real(complex(1.f, x) * complex(x, 0.f)));
  EXPECT_EQ(test::to_doubles(a), (list{1, -2}));
  EXPECT_EQ(test::to_doubles(b), (list{2, -4}));
  EXPECT_EQ(test::to_doubles(c), (list{1, -2}));
  EXPECT_EQ(test::to_doubles(d), (list{1, -2}));
}

// As NumPy and torch have it: |z| for parts whose squares overflow, or are no numbers.
TEST(complex, magnitudes_do_not_overflow) {
  auto const size = [](number z) {
    tensor t(dtype::complex128, shape{1});
    t.mutable_data<number>()[0] = z;
    return test::to_doubles(test::run([](auto const& in) { return abs(in[0]); }, {t}))[0];
  };
  EXPECT_DOUBLE_EQ(size({3e200, 4e200}), 5e200);
  EXPECT_EQ(size({INFINITY, NAN}), INFINITY);
  EXPECT_TRUE(std::isnan(size({1, NAN})));
  EXPECT_EQ(size({-0., 0.}), 0);
}

TEST(complex, magnitude_and_angle_make_the_number_again) {
  tensor t(dtype::complex128, shape{4});
  number const all[]{{3, 4}, {-1, 0.5}, {0, -2}, {1e-3, -1e3}};
  std::copy(std::begin(all), std::end(all), t.mutable_data<number>());
  auto const again = test::run([](auto const& in) { return polar(abs(in[0]), angle(in[0])); }, {t});
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_LT(std::abs(again.data<number>()[i] - all[i]), 1e-15 * std::abs(all[i]) * 4);
}

// Of |z|, dL/dRe + i dL/dIm is z / |z|, and 0 at 0; of the angle, i z / |z|².
TEST(complex, derivatives_point_where_the_target_grows) {
  tensor t(dtype::complex128, shape{2});
  t.mutable_data<number>()[0] = {3, 4}, t.mutable_data<number>()[1] = 0;
  auto const slope = [&](value (*f)(value)) {
    return test::run([f](auto const& in) { return gradients(sum(f(in[0]), extents{}), {in[0]}, true)[0]; }, {t});
  };
  auto const of_size = slope([](value z) { return abs(z); }), of_angle = slope([](value z) { return angle(z); });
  EXPECT_LT(std::abs(of_size.data<number>()[0] - number(0.6, 0.8)), 1e-15);
  EXPECT_EQ(of_size.data<number>()[1], number(0));
  EXPECT_LT(std::abs(of_angle.data<number>()[0] - number(-4, 3) / 25.), 1e-16);
  EXPECT_EQ(slope([](value z) { return real(z); }).data<number>()[0], number(1));
  EXPECT_EQ(slope([](value z) { return imag(z); }).data<number>()[0], number(0, 1));
}

TEST(complex, refuses_parts_that_are_no_floats_and_imaginary_parts_of_reals) {
  graph g;
  auto const i = placeholder(g, of<int, 2>), x = placeholder(g, of<float, 2>), y = placeholder(g, of<double, 2>);
  test::expect_error(code::invalid_argument, "complex: the parts are not float32 or float64", [&] { complex(i, i); });
  test::expect_error(code::invalid_argument, "different element types", [&] { complex(x, y); });
  test::expect_error(code::invalid_argument, "imag: the operand is not of complex numbers", [&] { imag(x); });
}

}  // namespace
}  // namespace rill
