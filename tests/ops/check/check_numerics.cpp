#include "rill/ops/check/check_numerics.hpp"

#include "../run.hpp"
#include "rill/grad/gradients.hpp"
#include "rill/ops/math/exponential.hpp"

namespace rill {
namespace {

TEST(check_numerics, lets_finite_numbers_pass) {
  for (auto d :
       {dtype::float16, dtype::bfloat16, dtype::float32, dtype::float64, dtype::complex64, dtype::complex128}) {
    auto const x = test::scattered(d, {40, 50});
    EXPECT_TRUE(same_bits(test::run([](auto const& in) { return check_numerics(in[0]); }, {x}), x)) << name(d);
  }
}

TEST(check_numerics, names_the_node_the_kind_and_the_first_place) {
  for (auto d : {dtype::float16, dtype::bfloat16, dtype::float32, dtype::float64, dtype::complex64, dtype::complex128})
    for (double bad : {NAN, INFINITY, -INFINITY})
      for (int threads : {1, 4}) {
        auto x = test::scattered(d, {300, 400});
        visit(d, [&]<class T>() {
          if constexpr (is_differentiable(dtype_of<T>))
            for (auto i : {70001, 99999}) x.mutable_data<T>()[i] = T(static_cast<float>(bad));
        });
        auto const words = std::string("loss has ") + (std::isnan(bad) ? "a NaN" : "an infinity") +
                           ", first at element 70001 of 120000";
        test::expect_error(code::invalid_argument, words, [&] {
          test::run([](auto const& in) { return check_numerics(in[0], "loss"); }, {x}, threads);
        });
      }
}

TEST(check_numerics, checks_its_gradient) {
  graph g;
  auto x = placeholder<float>(g);
  auto [dx] = gradients(sqrt(check_numerics(x, "x")), x);
  session s{g};
  EXPECT_EQ(float(s.run({{x, tensor_of<of<float>>(tensor(4.f))}}, dx)), 0.25f);
  test::expect_error(code::invalid_argument, "x (its gradient) has an infinity",
                     [&] { s.run({{x, tensor_of<of<float>>(tensor(0.f))}}, dx); });
}

TEST(check_numerics, leaves_the_session_usable) {
  graph g;
  auto x = placeholder<float, 2>(g);
  auto y = check_numerics(x);
  session s{g};
  auto const bad = tensor_of<of<float, 2>>(test::from_doubles(dtype::float32, {2}, {1, NAN}));
  auto const good = tensor_of<of<float, 2>>(test::from_doubles(dtype::float32, {2}, {1, 2}));
  EXPECT_THROW(s.run({{x, bad}}, y), error);
  EXPECT_TRUE(same_bits(s.run({{x, good}}, y), good));
}

}  // namespace
}  // namespace rill
