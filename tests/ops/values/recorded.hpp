// What tests/ops/values/record*.py have recorded, and how a result is compared with it.
#pragma once
#include <gtest/gtest.h>

#include <charconv>
#include <cmath>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "../examples/source_folder.hpp"
#include "rill/io/npz.hpp"
#include "rill/ops/list/operations.hpp"
#include "rill/run/session.hpp"

namespace rill::test {

// ---------------------------------------------------------------------------------------------------------------------
// What was recorded

struct recording {
  std::string name;  // the operation's, perhaps with more words
  dtype tried = dtype::float32;
  std::vector<tensor> inputs, results;
  std::vector<bool> exact;  // for each result

  std::string operation() const { return name.substr(0, name.find(' ')); }
};

inline dtype element_called(std::string_view word) {
  for (std::size_t i = 0; i < dtype_count; ++i)
    if (auto const d = static_cast<dtype>(i); name(d) == word) return d;
  throw error(code::invalid_argument, "there is no element type '" + std::string(word) + "'");
}

inline tensor tensor_of_bytes(dtype d, shape const& extents, char const* bytes) {
  tensor t(d, extents);
  if (d != dtype::string) {
    if (t.bytes() != 0) std::memcpy(t.mutable_raw(), bytes, t.bytes());
    return t;
  }
  constexpr std::size_t width = 6;
  for (std::size_t i = 0; i < static_cast<std::size_t>(t.elements()); ++i) {
    std::string_view const field(bytes + i * width, width);
    t.mutable_data<std::string>()[i] = field.substr(0, field.find('\0'));
  }
  return t;
}

// What an archive has: of tests/ops/values/<name>.npz.
inline std::vector<recording> read_recordings(std::string const& name) {
  auto const members = read_npz(source_folder() / "tests/ops/values" / (name + ".npz"));
  auto const& bytes = members.at(1).value;
  std::istringstream lines(members.at(0).value.item<std::string>());
  std::vector<recording> list;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string word[6];
    for (auto& w : word) std::getline(words, w, '|');
    shape extents;
    if (word[4] != "-") {
      std::istringstream numbers(word[4]);
      for (std::string n; std::getline(numbers, n, ',');) extents.push_back(std::stoll(n));
    }
    auto const tried = element_called(word[1]);
    if (word[2] == "first") list.push_back({word[0], tried, {}, {}, {}});
    auto& r = list.back();
    EXPECT_TRUE(r.name == word[0] && r.tried == tried) << line;
    auto const* at = bytes.data<std::uint8_t>() + std::stoull(word[5]);
    auto t = tensor_of_bytes(element_called(word[3]), extents, reinterpret_cast<char const*>(at));
    bool const input = word[2] == "first" || word[2] == "next";
    (input ? r.inputs : r.results).push_back(std::move(t));
    if (!input) r.exact.push_back(word[2] == "exact");
  }
  return list;
}

// ---------------------------------------------------------------------------------------------------------------------
// How each case is recorded in a graph

struct call {
  graph& g;
  std::vector<tensor> const& fed;
  std::vector<value> const& x;
  dtype tried;

  variable_value own() const { return variable(x[0], detail::numbered_variable(g, "v", "")); }
  value after(operation const& first, value v) const {
    return g.after({first}, [&] { return read(variable_value{v}); });
  }
};
using recorder = std::function<value(call const&)>;
using recorder_map = std::map<std::string, recorder>;

// All results of a case.
inline std::vector<tensor> computed(recording const& r, recorder const& f, session_options const& options) {
  graph g;
  std::vector<value> x;
  std::vector<feed> feeds;
  for (auto const& t : r.inputs) {
    x.push_back(placeholder(g, t.type()));
    feeds.emplace_back(x.back(), t);
  }
  auto const y = f({g, r.inputs, x, r.tried});
  session s(g, options);
  if (!g.initials().empty()) s.run(feeds, initializer(g));
  std::vector<std::string> names;
  for (std::uint32_t port = 0; port < r.results.size(); ++port) names.push_back(value{&g, y.node, port}.name());
  return s.run(std::span<feed const>(feeds), names);
}

// ---------------------------------------------------------------------------------------------------------------------
// How far a result may be off

// Units of the last place of the result; of its tensor's largest element, where a result is a sum that may cancel.
struct bound {
  double ulp = 0;
  bool of_largest = false;
};
using bound_map = std::map<std::string, bound>;

template <class T> inline constexpr int digits = std::numeric_limits<T>::digits;
template <> inline constexpr int digits<half> = 11;
template <> inline constexpr int digits<bfloat16> = 8;
template <class T> inline constexpr int least_exponent = std::numeric_limits<T>::min_exponent;
template <> inline constexpr int least_exponent<half> = -13;
template <> inline constexpr int least_exponent<bfloat16> = -125;
template <class T> inline constexpr int most_exponent = std::numeric_limits<T>::max_exponent;
template <> inline constexpr int most_exponent<half> = 16;
template <> inline constexpr int most_exponent<bfloat16> = 128;

// One unit of the last place that T has at x.
template <class T> double unit(double x) {
  int const exponent = x == 0 ? least_exponent<T> : std::ilogb(x) + 1;
  return std::ldexp(1.0, std::clamp(exponent, least_exponent<T>, most_exponent<T>) - digits<T>);
}

// The distance of two numbers in units of the last place; infinity stands for the power of two behind the largest.
template <class T> double distance(double got, double want, double unit_at) {
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) == std::isnan(got) ? 0 : INFINITY;
  if (got == want) return 0;
  double const beyond = std::ldexp(1.0, most_exponent<T>);
  return std::abs(std::clamp(got, -beyond, beyond) - std::clamp(want, -beyond, beyond)) / unit<T>(unit_at);
}

template <class T> void expect_near(std::span<T const> got, std::span<double const> want, bound b) {
  double largest = 0;
  for (double w : want)
    if (std::isfinite(w)) largest = std::max(largest, std::abs(w));
  for (std::size_t i = 0; i < got.size(); ++i) {
    auto const y = static_cast<double>(got[i]);
    ASSERT_LE(distance<T>(y, want[i], b.of_largest ? largest : want[i]), b.ulp)
        << "element " << i << ": " << y << " for " << want[i];
  }
}
template <class R>
void expect_near(std::span<std::complex<R> const> got, std::span<std::complex<double> const> want, bound b) {
  double largest = 0;
  for (auto w : want) largest = std::max(largest, std::abs(w));
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_LE(std::abs(std::complex<double>(got[i]) - want[i]),
              4 * b.ulp * unit<R>(b.of_largest ? largest : std::abs(want[i])))
        << "element " << i << ": " << got[i] << " for " << want[i];
}

// The same numbers: zeros of both signs are equal, and so is every NaN.
template <class T> void expect_equal(std::span<T const> got, std::span<T const> want) {
  for (std::size_t i = 0; i < got.size(); ++i) {
    if constexpr (is_float(dtype_of<T>)) {
      if (std::isnan(static_cast<double>(want[i]))) {
        ASSERT_TRUE(std::isnan(static_cast<double>(got[i]))) << "element " << i;
        continue;
      }
      ASSERT_EQ(static_cast<double>(got[i]), static_cast<double>(want[i])) << "element " << i;
    } else if constexpr (is_complex(dtype_of<T>)) {
      if (std::isnan(want[i].real())) {
        ASSERT_TRUE(std::isnan(got[i].real()) && got[i].imag() == want[i].imag()) << "element " << i;
        continue;
      }
      ASSERT_EQ(got[i], want[i]) << "element " << i;
    } else ASSERT_TRUE(got[i] == want[i]) << "element " << i;
  }
}

inline void expect_recorded(tensor const& got, tensor const& want, bool exact, bound b) {
  ASSERT_EQ(got.shape(), want.shape());
  visit(got.element(), [&]<class T>() {
    if (exact) {
      ASSERT_EQ(got.element(), want.element());
      expect_equal(got.span<T>(), want.span<T>());
    } else if constexpr (is_complex(dtype_of<T>)) expect_near(got.span<T>(), want.span<std::complex<double>>(), b);
    else if constexpr (is_float(dtype_of<T>)) expect_near(got.span<T>(), want.span<double>(), b);
    else FAIL() << "it is a " << got.type().text() << " and should be a " << want.type().text();
  });
}

// Records each case of an archive, runs it, and compares: `bounds` by operation, 4 units of the largest otherwise.
inline void expect_recordings(std::vector<recording> const& all, recorder_map const& recorders, bound_map const& bounds,
                              session_options const& options) {
  for (auto const& r : all) {
    SCOPED_TRACE(r.name + " of " + std::string(name(r.tried)));
    try {
      auto const how = recorders.find(r.name);
      if (how == recorders.end()) throw error(code::not_found, "nobody knows how to record this case");
      auto const got = computed(r, how->second, options);
      ASSERT_EQ(got.size(), r.results.size());
      auto const b = bounds.find(r.operation());
      for (std::size_t i = 0; i < got.size(); ++i)
        expect_recorded(got[i], r.results[i], r.exact[i], b == bounds.end() ? bound{4, true} : b->second);
    } catch (error const& failure) {
      ADD_FAILURE() << failure.what();
    }
  }
}

}  // namespace rill::test
