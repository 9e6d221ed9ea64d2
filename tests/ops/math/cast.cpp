#include "rill/ops/math/cast.hpp"

#include <random>

#include "../run.hpp"
#include "rill/grad/gradients.hpp"

namespace rill {
namespace {

// The number of a binary format that is nearest, ties to even.
template <class To> To nearest(long double x) {
  bool const is_half = std::is_same_v<To, half>;
  int const fraction = is_half ? 10 : 7, largest = is_half ? 15 : 127;
  if (x == 0 || !std::isfinite(x)) return To(static_cast<float>(x));
  auto const unit = std::ldexp(1.0L, std::max(std::ilogb(x), 1 - largest) - fraction);
  auto const y = std::nearbyint(x / unit) * unit;  // a float holds it, but beyond the largest
  return To(std::abs(y) >= std::ldexp(1.0L, largest + 1)
                ? std::copysign(std::numeric_limits<float>::infinity(), static_cast<float>(x))
                : static_cast<float>(y));
}

// What a cast gives, said once more: with long double, which holds every number of the other types.
template <class To, class From> To wanted(From x) {
  if constexpr (std::is_same_v<To, From>) return x;
  else if constexpr (requires { x.real(); }) {
    if constexpr (requires(To t) { t.real(); })
      return To(static_cast<typename To::value_type>(x.real()), static_cast<typename To::value_type>(x.imag()));
    else if constexpr (std::is_same_v<To, bool>) return x.real() != 0 || x.imag() != 0;
    else return wanted<To>(x.real());
  } else if constexpr (requires(To t) { t.real(); }) return To(wanted<typename To::value_type>(x), 0);
  else if constexpr (std::is_same_v<To, bool>) return static_cast<long double>(x) != 0;
  else if constexpr (std::is_integral_v<To> && !std::is_integral_v<From>) {
    auto const v = static_cast<long double>(x);
    if (std::isnan(v)) return 0;
    if (v >= static_cast<long double>(std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
    if (v <= static_cast<long double>(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
    return static_cast<To>(v);
  } else if constexpr (std::is_class_v<To>) return nearest<To>(static_cast<long double>(x));
  else return static_cast<To>(x);
}

template <class T> std::vector<T> interesting() {
  std::vector<T> v;
  if constexpr (requires(T t) { t.imag(); }) {
    for (auto x : interesting<typename T::value_type>()) v.push_back({x, 1}), v.push_back({0, x});
  } else if constexpr (std::is_same_v<T, bool>) {
    v = {false, true};
  } else if constexpr (std::is_integral_v<T>) {
    using limits = std::numeric_limits<T>;
    v = {0,
         1,
         2,
         100,
         127,
         limits::max(),
         limits::min(),
         static_cast<T>(limits::max() - 1),
         static_cast<T>(limits::min() + 1)};
    for (int bit = 0; bit < 8 * static_cast<int>(sizeof(T)); ++bit)
      v.push_back(static_cast<T>(T{1} << bit)), v.push_back(static_cast<T>(~(T{1} << bit)));
  } else {
    for (double x : {0.,
                     -0.,
                     0.4,
                     0.5,
                     1.5,
                     -0.5,
                     -0.999,
                     1 + 0x1p-11 + 0x1p-40,  // above a tie of float16's, which a float between would hide
                     -(1 + 0x1p-8 + 0x1p-40),
                     0x1p-25 + 0x1p-60,
                     -1.,
                     2.5,
                     127.4,
                     128.,
                     255.9,
                     256.,
                     -128.9,
                     -129.,
                     32767.9,
                     65504.,
                     1e5,
                     1e9,
                     2147483520.,
                     2147483647.,
                     2147483648.,
                     -2147483648.,
                     -2147483649.,
                     4294967295.,
                     4294967296.,
                     9e18,
                     9223372036854774784.,
                     9223372036854775808.,
                     -9223372036854775808.,
                     18446744073709549568.,
                     18446744073709551616.,
                     1e30,
                     -1e30,
                     1e300,
                     static_cast<double>(INFINITY),
                     -static_cast<double>(INFINITY),
                     static_cast<double>(NAN)})
      if constexpr (std::is_class_v<T>) v.push_back(T(static_cast<float>(x)));
      else v.push_back(static_cast<T>(x));
  }
  return v;
}

TEST(cast, is_defined_for_every_number_of_every_pair_of_types) {
  for_each_type<dtypes::numeric_or_bool>([]<class From>(std::size_t) {
    auto const values = interesting<From>();
    tensor x(dtype_of<From>, shape{values.size()});
    std::copy(values.begin(), values.end(), x.mutable_data<From>());
    for_each_type<dtypes::numeric_or_bool>([&]<class To>(std::size_t) {
      auto const y = test::run(
          [](auto const& in) { return record_erased<ops::cast_op>(*in[0].graph, {dtype_of<To>}, {in[0]}); }, {x});
      tensor z(dtype_of<To>, x.shape());
      for (std::size_t i = 0; i < values.size(); ++i)
        z.template mutable_data<To>()[i] = wanted<To>(static_cast<From>(values[i]));
      for (std::size_t i = 0; i < values.size(); ++i) {
        To const a = y.template data<To>()[i], b = z.template data<To>()[i];
        if constexpr (std::is_integral_v<To>)
          EXPECT_EQ(a, b) << name(dtype_of<From>) << " " << name(dtype_of<To>) << " " << i;
        else EXPECT_TRUE(a == b || (a != a && b != b)) << name(dtype_of<From>) << " " << name(dtype_of<To>) << " " << i;
      }
    });
  });
}

TEST(cast, passes_gradients_back_in_the_first_type) {
  graph g;
  auto x = placeholder<float, 2>(g);
  auto y = cast<double>(x);
  static_assert(decltype(y)::static_type == of<double, 2>);
  auto [dx] = gradients(sum(y * y), x);
  session s{g};
  EXPECT_EQ(test::to_doubles(s.run({{x, tensor_of<of<float, 2>>(test::counting(dtype::float32, {2}))}}, dx)),
            (std::vector<double>{2, 4}));
}

TEST(cast, to_the_same_type_is_the_value_itself_and_strings_are_refused) {
  graph g;
  auto x = placeholder<float, 2>(g);
  EXPECT_EQ(cast<float>(x).node, x.node);
  EXPECT_EQ(cast(value(x), dtype::float32).node, x.node);
  test::expect_error(code::invalid_argument, "strings can't be cast", [&] { cast(value(x), dtype::string); });
  test::expect_error(code::invalid_argument, "strings can't be cast",
                     [&] { cast(placeholder(g, type{dtype::string}), dtype::float32); });
}

}  // namespace
}  // namespace rill
