// Integer division by zero, and NaN that is cast to an index.
#include "hostile.hpp"

namespace rill::test {
namespace {

template <class T> std::vector<T> corners() {
  using limits = std::numeric_limits<T>;
  return {limits::min(), static_cast<T>(limits::min() + 1), static_cast<T>(-1), T(0), T(1), T(2), limits::max()};
}

template <class F> void visit_integers(F f) {
  f.template operator()<std::int8_t>(), f.template operator()<std::uint8_t>();
  f.template operator()<std::int16_t>(), f.template operator()<std::uint16_t>();
  f.template operator()<std::int32_t>(), f.template operator()<std::uint32_t>();
  f.template operator()<std::int64_t>(), f.template operator()<std::uint64_t>();
}

// The quotient in as many bits as it needs, then wrapped.
template <class T> T quotient(T a, T b) {
  if (b == 0) return 0;
  if constexpr (std::is_signed_v<T>)
    if (b == T(-1)) return static_cast<T>(std::make_unsigned_t<T>(0) - static_cast<std::make_unsigned_t<T>>(a));
  return static_cast<T>(a / b);
}

template <class T> void expect_quotients(std::vector<T> const& all) {
  auto const n = static_cast<std::int64_t>(all.size());
  auto const x = tensor::copy(std::span<T const>(all), shape{n, 1}), y = x.reshaped({1, n});
  for (bool folded : {false, true})
    for (bool fused : {false, true}) {
      graph g;
      value const a = folded ? constant(g, x) : placeholder(g, type::of_unknown_rank(dtype_of<T>));
      value const b = folded ? constant(g, y) : placeholder(g, type::of_unknown_rank(dtype_of<T>));
      session s(g, {.threads = 1, .passes = fused ? pass_options{} : pass_options::none()});
      value const both = div(a, b);
      auto const got = s.run({{a, x}, {b, y}}, fused ? sub(sub(both, both), both) : both);
      for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = 0; j < n; ++j) {
          T want = quotient(all[static_cast<std::size_t>(i)], all[static_cast<std::size_t>(j)]);
          if (fused) want = static_cast<T>(std::make_unsigned_t<T>(0) - static_cast<std::make_unsigned_t<T>>(want));
          ASSERT_EQ(got.template at<T>(i, j), want)
              << +all[static_cast<std::size_t>(i)] << " / " << +all[static_cast<std::size_t>(j)];
        }
    }
}

TEST(advisories_integers, division_by_zero_and_of_the_least_number_by_minus_one_are_defined) {
  visit_integers([]<class T>() {
    if constexpr (sizeof(T) == 1) {
      std::vector<T> all;
      for (int i = std::numeric_limits<T>::min(); i <= std::numeric_limits<T>::max(); ++i)
        all.push_back(static_cast<T>(i));
      expect_quotients(all);
    } else expect_quotients(corners<T>());
  });
}

TEST(advisories_integers, what_is_no_number_becomes_an_index_that_is_checked) {
  for (auto from : {dtype::float16, dtype::bfloat16, dtype::float32, dtype::float64, dtype::complex64})
    for (auto index : {dtype::int32, dtype::int64})
      for (double bad : {double(NAN), double(INFINITY), -double(INFINITY), 1e30, -1e30, 2.9, -0.9}) {
        graph g;
        auto const x = placeholder(g, type::of_unknown_rank(from));
        auto const table = constant(g, counting(dtype::float64, {3}));
        session s(g, {.threads = 1});
        auto const row = gather(table, cast(x, index));
        std::vector<feed> const feeds{{x, from_doubles(from, {}, {bad})}};
        bool const inside = std::isnan(bad) || std::abs(bad) < 3;
        try {
          auto const got = s.run(feeds, row).item<double>();
          EXPECT_TRUE(inside) << bad;
          EXPECT_EQ(got, bad > 1 ? 3 : 1) << bad;
        } catch (error const& e) {
          EXPECT_FALSE(inside) << bad;
          EXPECT_EQ(e.code(), code::invalid_argument);
        }
        auto const hot = s.run(feeds, sum(one_hot(cast(x, index), 3, dtype::float64), extents{})).item<double>();
        EXPECT_EQ(hot, inside ? 1 : 0) << bad;
      }
}

TEST(advisories_integers, numbers_that_are_none_go_through_every_operation) {
  for (auto const& good : good_calls())
    for (double bad : {double(NAN), double(INFINITY), -double(INFINITY), 0.0, -1.0, 1e308}) {
      auto c = good;
      for (auto& t : c.inputs)
        if (t.element() == dtype::float64)
          t = from_doubles(t.element(), t.shape(), std::vector<double>(static_cast<std::size_t>(t.elements()), bad));
      attempt(c, declared::unranked, true);
    }
}

TEST(advisories_integers, every_integer_goes_through_every_operation) {
  for (auto const& good : good_calls())
    for (auto bad : {std::numeric_limits<std::int32_t>::min(), -1, 0, std::numeric_limits<std::int32_t>::max()}) {
      auto c = good;
      for (auto& t : c.inputs)
        if (t.element() == dtype::int32)
          t = from_doubles(t.element(), t.shape(), std::vector<double>(static_cast<std::size_t>(t.elements()), bad));
      expect_steady(c, false);
    }
}

}  // namespace
}  // namespace rill::test
