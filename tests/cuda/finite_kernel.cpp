#include "rill/cuda/finite_kernel.hpp"

#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "real_nvrtc.hpp"
#include "sessions_on_both.hpp"

namespace rill {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr dtype checked[] = {dtype::float16, dtype::bfloat16,  dtype::float32,
                             dtype::float64, dtype::complex64, dtype::complex128};

// n numbers, one of which is not finite: its imaginary part, if it has one. at: -1: all are finite.
tensor numbers(dtype element, std::int64_t n, std::int64_t at, double bad) {
  tensor made(element, shape{n});
  visit(element, [&]<class T>() {
    if constexpr (dtypes::floats.contains(dtype_of<T>) || dtypes::complexes.contains(dtype_of<T>))
      for (std::int64_t i = 0; i < n; ++i) {
        auto& to = static_cast<T*>(made.mutable_raw())[i];
        double const x = i == at ? bad : static_cast<double>(i % 200) - 100;
        if constexpr (requires { to.imag(); }) to = T(1, static_cast<typename T::value_type>(x));
        else to = static_cast<T>(x);
      }
  });
  return made;
}

// Checks a fed value, which stays as it is, and one that is not needed again: there the check may work in place.
auto checked_with(std::string const& message) {
  return [=](std::vector<value> const& in) {
    return std::vector<value>{check_numerics(in[0], message), check_numerics(reverse(in[0], {0}), message)};
  };
}

struct numerics_on_gpu : test::sessions_on_both, testing::WithParamInterface<dtype> {};
INSTANTIATE_TEST_SUITE_P(each_type, numerics_on_gpu, testing::ValuesIn(test::types_to_test(checked)),
                         [](auto const& i) { return std::string(name(i.param)); });

TEST_P(numerics_on_gpu, are_passed_on_if_they_are_finite) {
  for (std::int64_t const n : {0, 1, 31, 257, 10'001})
    compare({numbers(GetParam(), n, -1, 0)}, checked_with(""),
            std::string(name(GetParam())) + ", " + std::to_string(n));
}
TEST_P(numerics_on_gpu, end_a_step_with_the_hosts_words_if_they_are_not) {
  struct {
    std::int64_t n, at;
    double bad;
    char const* message;
  } const cases[] = {{1, 0, std::nan(""), ""},
                     {257, 256, infinite, "the loss"},
                     {257, 3, -infinite, ""},
                     {10'001, 9'999, std::nan(""), "it"}};
  for (auto const& [n, at, bad, message] : cases) {
    auto const said = failure_of_both({numbers(GetParam(), n, at, bad)}, checked_with(message));
    EXPECT_NE(said.find(std::string(bad != bad ? "a NaN" : "an infinity") + ", first at element " + std::to_string(at)),
              std::string::npos)
        << said;
  }
}

struct finite_text : test::on_real_nvrtc {};
TEST_F(finite_text, is_compiled_by_nvrtc) {
  for (std::size_t const bytes : {2u, 4u, 8u}) add_text(cuda::finite_text(bytes), bytes);
  expect_compiled();
}

}  // namespace
}  // namespace rill
