#include "rill/ops/array/fill.hpp"

#include "../run.hpp"
#include "rill/grad/gradients.hpp"

namespace rill {
namespace {

TEST(fill, puts_one_element_everywhere) {
  for (auto d : {dtype::float32, dtype::float16, dtype::int8, dtype::uint64, dtype::complex128, dtype::boolean}) {
    auto const y = test::run([](auto const& in) { return fill(in[0], {2, 3}); }, {test::from_doubles(d, {}, {1})});
    EXPECT_EQ(y.type(), type(d, shape{2, 3}));
    EXPECT_EQ(test::to_doubles(y), std::vector<double>(6, 1));
  }
  auto const one = tensor(2.f);
  EXPECT_EQ(test::run([](auto const& in) { return fill(in[0], {0, 3}); }, {one}).elements(), 0);
  EXPECT_EQ(test::run([](auto const& in) { return fill(in[0], {}); }, {one}).item<float>(), 2.f);
}

TEST(fill, knows_its_type_and_has_a_gradient) {
  graph g;
  auto x = placeholder<double>(g);
  auto y = fill<2, 3>(x);
  static_assert(decltype(y)::static_type == of<double, 2, 3>);
  auto [dx] = gradients(sum(y * y), x);
  session s{g, {.threads = 1}};
  EXPECT_EQ(s.run({{x, tensor(3.0)}}, dx).item<double>(), 36);
}

TEST(fill, refuses_what_is_no_single_number) {
  graph g;
  test::expect_error(code::invalid_argument, "not a scalar", [&] { fill(placeholder(g, of<float, 2>), {3}); });
  test::expect_error(code::invalid_argument, "strings", [&] { fill(placeholder(g, of<std::string>), {3}); });
}

}  // namespace
}  // namespace rill
