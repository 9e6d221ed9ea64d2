#include "rill/tensor/print.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <locale>
#include <sstream>
#include <type_traits>

namespace rill {
namespace {

constexpr auto nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();

template <class T> tensor make(shape const& s, std::initializer_list<T> values) {
  tensor t(dtype_of<T>, s);
  std::copy(values.begin(), values.end(), t.mutable_data<T>());
  return t;
}

template <class T> tensor ramp(shape const& s, double scale) {
  tensor t(dtype_of<T>, s);
  using wide = std::conditional_t<std::is_integral_v<T>, std::int64_t, double>;
  for (std::int64_t i = 0; i < t.elements(); ++i)
    t.mutable_data<T>()[i] = static_cast<T>(static_cast<T>(static_cast<wide>(i)) * static_cast<T>(scale));
  return t;
}

struct printed {
  tensor value;
  char const* text;
};

std::vector<printed> recorded() {
  return {
#include "print_reference.inc"
  };
}

TEST(print, writes_what_numpy_writes) {
  for (auto const& each : recorded()) EXPECT_EQ(text(each.value), each.text) << each.value.type().text();
}

TEST(print, streams_the_same_text) {
  std::ostringstream s;
  s << make<float>({2}, {1, 2.5f});
  EXPECT_EQ(s.str(), "[1.  2.5]");
}

TEST(print, shows_the_shortest_digits_of_a_bfloat16) {
  EXPECT_EQ(text(make<bfloat16>({3}, {bfloat16(1.f), bfloat16(0.1f), bfloat16(-3.f)})), "[ 1.   0.1 -3. ]");
}

TEST(print, takes_other_precisions_edges_and_widths) {
  auto const t = make<double>({3}, {1.0 / 3, 2, 1e-2});
  EXPECT_EQ(text(t, {.precision = 3}), "[0.333 2.    0.01 ]");
  EXPECT_EQ(text(t, {.precision = 0}), "[0. 2. 0.]");
  EXPECT_EQ(text(ramp<std::int32_t>({10}, 1), {.threshold = 5, .edge_items = 2}), "[0 1 ... 8 9]");
  EXPECT_EQ(text(ramp<std::int32_t>({3, 10}, 1), {.threshold = 5, .edge_items = 1}),
            "[[ 0 ...  9]\n ...\n [20 ... 29]]");
  EXPECT_EQ(text(ramp<std::int32_t>({6}, 1), {.line_width = 7}), "[0 1 2\n 3 4 5]");
}

TEST(print, shows_nothing_but_dots_when_the_edges_are_empty) {
  EXPECT_EQ(text(ramp<std::int32_t>({10}, 1), {.threshold = 5, .edge_items = 0}), "[...]");
}

TEST(print, writes_types_and_extents) {
  std::ostringstream s;
  s << of<float, 2, "n"> << ' ' << dtype::bfloat16 << ' ' << shape{2, 3};
  EXPECT_EQ(s.str(), "float32[2, n] bfloat16 [2, 3]");
  s.str("");
  s << dim(3) << ' ' << of<float, 2, "n">[1] << ' ' << unknown;
  EXPECT_EQ(s.str(), "3 n ?");
}

TEST(print, writes_numbers_in_16_bits_and_errors) {
  std::ostringstream s;
  s.imbue(std::locale::classic());
  s << half(1.5f) << ' ' << bfloat16(-2.f) << ' ' << code::not_found;
  EXPECT_EQ(s.str(), "1.5 -2 not_found");
  s.str("");
  s << error(code::not_found, "there is no such thing");
  EXPECT_EQ(s.str(), "not_found: there is no such thing");
}

TEST(print, says_so_when_there_is_no_tensor) { EXPECT_EQ(text(tensor()), "(no tensor)"); }

TEST(print, refuses_a_negative_precision) {
  EXPECT_THROW(text(make<float>({1}, {1}), {.precision = -1}), error);
  EXPECT_THROW(text(make<float>({1}, {1}), {.edge_items = -1}), error);
}

}  // namespace
}  // namespace rill
