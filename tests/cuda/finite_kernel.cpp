#include "rill/cuda/finite_kernel.hpp"

#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "emulated.hpp"
#include "real_nvrtc.hpp"
#include "rill/cuda/gpu.hpp"
#include "rill/rill.hpp"

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

class numerics_on_gpu : public test::on_emulated_gpu, public testing::WithParamInterface<dtype> {
 protected:
  // Runs the check of a fed value, which stays as it is, and of a value that is not needed again: there the check may
  // work in place.
  std::vector<tensor> run(tensor const& fed, char const* where, std::string const& message) {
    graph g;
    auto const x = placeholder(g, fed.type());
    std::vector<value> of;
    g.on(where, [&] { of = {check_numerics(x, message), check_numerics(reverse(x, {0}), message)}; });
    session s{g, {.threads = 1, .devices = {on_}}};
    std::vector<feed> const feeds{{x, fed}};
    std::vector<tensor> all;
    for (auto const& t : s.run(std::span<feed const>(feeds), of)) all.push_back(t.to(host));
    return all;
  }
  error failure_of(tensor const& fed, char const* where, std::string const& message) {
    try {
      run(fed, where, message);
    } catch (error const& e) {
      return e;
    }
    ADD_FAILURE() << "the step succeeded " << where;
    return error(code::internal, "");
  }

 private:
  std::shared_ptr<gpu_device> on_ = gpu(0);

  void TearDown() override {
    on_.reset();
    test::on_emulated_gpu::TearDown();
  }
};
INSTANTIATE_TEST_SUITE_P(each_type, numerics_on_gpu, testing::ValuesIn(checked),
                         [](auto const& i) { return std::string(name(i.param)); });

TEST_P(numerics_on_gpu, are_passed_on_if_they_are_finite) {
  for (std::int64_t const n : {0, 1, 31, 257, 10'001}) {
    auto const fed = numbers(GetParam(), n, -1, 0);
    for (unsigned const order : {0u, 7u}) {
      RILL_EMULATED(rill_emulated_set_order)(order);
      auto const there = run(fed, "gpu:0", ""), here = run(fed, "cpu:0", "");
      for (std::size_t i = 0; i < here.size(); ++i) EXPECT_TRUE(same_bits(there[i], here[i])) << n;
    }
  }
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
    auto const fed = numbers(GetParam(), n, at, bad);
    auto const there = failure_of(fed, "gpu:0", message), here = failure_of(fed, "cpu:0", message);
    EXPECT_EQ(there.code(), code::invalid_argument);
    EXPECT_EQ(there.message(), here.message());
    EXPECT_EQ(there.node(), here.node());
    EXPECT_EQ(there.device(), "/device:gpu:0");
  }
}

struct finite_text : test::on_real_nvrtc {};
TEST_F(finite_text, is_compiled_by_nvrtc) {
  for (std::size_t const bytes : {2u, 4u, 8u})
    for (int const capability : {80, 90, 100})
      EXPECT_FALSE(compiler->compile(cuda::finite_text(bytes), capability).empty());
}

}  // namespace
}  // namespace rill
