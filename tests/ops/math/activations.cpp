#include "rill/ops/math/activations.hpp"

#include "../../program/accuracy.hpp"
#include "../run.hpp"
#include "rill/grad/gradients.hpp"
#include "rill/ops/list/fuse.hpp"
#include "rill/ops/list/use_elements.hpp"
#include "rill/ops/sum/sum.hpp"

namespace rill {
namespace {

using list = std::vector<double>;

list const at{-1000, -6.5, -3, -1, -0.25, 0, 0.25, 1, 3, 6, 7, 1000};

struct activation {
  char const* name;
  value (*f)(value);
  list values, slopes, curvatures;  ///< what PyTorch 2.15 gives for `at` in double, by autograd
};

activation const activations[] = {
    {"silu",
     [](value x) { return silu(x); },
     {-0.0, -0.009757684668790446, -0.14227761953270035, -0.2689414213699951, -0.10945587477855048, 0.0,
      0.14054412522144952, 0.7310585786300049, 2.8577223804672998, 5.985164261060192, 6.993622641639196, 1000.0},
     {-0.0, -0.008241854348961832, -0.08810410601516962, 0.07232948812851325, 0.37628997842980233, 0.5,
      0.6237100215701977, 0.9276705118714869, 1.0881041060151693, 1.0123264325915249, 1.0054604970664518, 1.0},
     {0.0, -0.006715927041202296, -0.032321404521006174, 0.3023661188100153, 0.48461628746851704, 0.5,
      0.48461628746851704, 0.3023661188100153, -0.03232140452100613, -0.00979285218956127, -0.004539496287302458, 0.0}},
    {"gelu",
     [](value x) { return gelu(x); },
     {-0.0, -2.610399119085116e-10, -0.00404969409489031, -0.15865525393145702, -0.10032341857926907, 0.0,
      0.14967658142073093, 0.841344746068543, 2.99595030590511, 5.999999994080474, 6.999999999991041, 1000.0},
     {0.0, -1.6950518131483905e-09, -0.01194564720418392, -0.08331547058768635, 0.304626645116364, 0.5,
      0.695373354883636, 1.0833154705876864, 1.011945647204184, 1.0000000354687093, 1.0000000000626632, 1.0},
     {0.0, -1.0744965374420479e-08, -0.031022938883566054, 0.24197072451914337, 0.7491694763055204, 0.7978845608028654,
      0.7491694763055204, 0.24197072451914337, -0.031022938883566054, -2.0658001689399173e-07, -4.293318591931359e-10,
      0.0}},
    {"gelu_tanh",
     [](value x) { return gelu_tanh(x); },
     {-0.0, -6.27831120425526e-13, -0.0036373920817729943, -0.15880800939172324, -0.100324649298315, 0.0,
      0.149675350701685, 0.8411919906082768, 2.996362607918227, 5.9999999999156035, 6.999999999999997, 1000.0},
     {0.0, -6.583528748372494e-12, -0.011584166630969648, -0.08296408384578252, 0.30464590484893955, 0.5,
      0.6953540951510604, 1.0829640838457826, 1.0115841666309695, 1.0000000007709977, 1.0000000000000278, 1.0},
     {0.0, -6.727323751208096e-11, -0.03176765888607492, 0.24214819798377296, 0.7489486142236504, 0.7978845608028654,
      0.7489486142236504, 0.24214819798377296, -0.03176765888607492, -6.824247144948227e-09, -3.231224765815857e-13,
      0.0}},
    {"leaky_relu",
     [](value x) { return leaky_relu(x); },
     {-10.0, -0.065, -0.03, -0.01, -0.0025, 0.0, 0.25, 1.0, 3.0, 6.0, 7.0, 1000.0},
     {0.01, 0.01, 0.01, 0.01, 0.01, 0.01, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0},
     {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}},
    {"elu",
     [](value x) { return elu(x); },
     {-1.0, -0.9984965608070224, -0.950212931632136, -0.6321205588285577, -0.22119921692859512, 0.0, 0.25, 1.0, 3.0,
      6.0, 7.0, 1000.0},
     {0.0, 0.0015034391929775724, 0.049787068367863944, 0.36787944117144233, 0.7788007830714049, 1.0, 1.0, 1.0, 1.0,
      1.0, 1.0, 1.0},
     {0.0, 0.0015034391929775724, 0.049787068367863944, 0.36787944117144233, 0.7788007830714049, 1.0, 0.0, 0.0, 0.0,
      0.0, 0.0, 0.0}},
    {"elu of 2",
     [](value x) { return elu(x, 2); },
     {-2.0, -1.9969931216140449, -1.900425863264272, -1.2642411176571153, -0.44239843385719024, 0.0, 0.25, 1.0, 3.0,
      6.0, 7.0, 1000.0},
     {0.0, 0.0030068783859551447, 0.09957413673572789, 0.7357588823428847, 1.5576015661428098, 2.0, 1.0, 1.0, 1.0, 1.0,
      1.0, 1.0},
     {0.0, 0.0030068783859551447, 0.09957413673572789, 0.7357588823428847, 1.5576015661428098, 2.0, 0.0, 0.0, 0.0, 0.0,
      0.0, 0.0}},
    {"selu",
     [](value x) { return selu(x); },
     {-1.7580993408473766, -1.7554561453931987, -1.6705687287671118, -1.1113307378125625, -0.388890197478119, 0.0,
      0.2626752468388701, 1.0507009873554805, 3.1521029620664414, 6.304205924132883, 7.354906911488364,
      1050.7009873554805},
     {0.0, 0.0026431954541779818, 0.08753061208026487, 0.646768603034814, 1.3692091433692577, 1.7580993408473766,
      1.0507009873554805, 1.0507009873554805, 1.0507009873554805, 1.0507009873554805, 1.0507009873554805,
      1.0507009873554805},
     {0.0, 0.0026431954541779818, 0.08753061208026487, 0.646768603034814, 1.3692091433692577, 1.7580993408473766, 0.0,
      0.0, 0.0, 0.0, 0.0, 0.0}},
    {"relu6",
     [](value x) { return relu6(x); },
     {0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.25, 1.0, 3.0, 6.0, 6.0, 6.0},
     {0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0},
     {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}}};

// PyTorch has the curvature of elu and selu at 0 from the side where they are straight; here it is the other one's, as
// their slope there is.
TEST(activations, have_the_values_and_both_derivatives_of_pytorch) {
  for (auto const& a : activations) {
    graph g;
    auto x = placeholder(g, of<double, 12>, "x");
    auto const y = a.f(x);
    auto const dx = gradients(sum(y), {x}, true)[0], dxx = gradients(sum(dx), {x}, true)[0];
    session s{g};
    auto const expect = [&](value v, list const& want, char const* what) {
      auto const got = test::to_doubles(s.run({{x, test::from_doubles(dtype::float64, {12}, at)}}, v));
      for (std::size_t i = 0; i < got.size(); ++i)
        EXPECT_NEAR(got[i], want[i], 2e-13 * (1 + std::abs(want[i]))) << a.name << what << " at " << at[i];
    };
    expect(y, a.values, "");
    expect(dx, a.slopes, "'s slope");
    expect(dxx, a.curvatures, "'s curvature");
  }
}

TEST(activations, hand_on_nan) {
  for (auto const& a : activations) {
    auto const y =
        test::run([&](auto const& in) { return a.f(in[0]); }, {test::from_doubles(dtype::float32, {1}, {NAN})});
    EXPECT_TRUE(std::isnan(test::to_doubles(y)[0])) << a.name;
  }
}

// The derivative of a sum of f over numbers.
list slopes_of(value (*f)(value), list const& numbers) {
  graph g;
  auto const x = placeholder(g, {dtype::float64, {static_cast<std::int64_t>(numbers.size())}});
  session s{g};
  auto const dx = gradients(sum(f(x)), {x}, true)[0];
  return test::to_doubles(s.run({{x, test::from_doubles(dtype::float64, x.type().shape(), numbers)}}, dx));
}

TEST(activations, of_pieces_are_flat_at_the_bounds_as_in_pytorch) {
  EXPECT_EQ(slopes_of([](value x) { return hardtanh(x); }, {-2, -1, -0.5, 0, 1, 2}), (list{0, 0, 1, 1, 0, 0}));
  EXPECT_EQ(slopes_of([](value x) { return hardsigmoid(x) * 6; }, {-4, -3, 0, 3, 4}), (list{0, 0, 1, 0, 0}));
  EXPECT_EQ(slopes_of([](value x) { return hardswish(x); }, {-4, -3, 0, 3, 4}), (list{0, 0, 0.5, 1, 1}));
  EXPECT_EQ(slopes_of([](value x) { return prelu(x, like(x, 0.25)); }, {-4, 0, 4}), (list{0.25, 0.25, 1}));
}

TEST(activations, of_exponentials_neither_overflow_nor_lose_their_derivative) {
  EXPECT_EQ(slopes_of([](value x) { return celu(x, 0.5); }, {-1000, 0, 1000}), (list{0, 1, 1}));
  EXPECT_EQ(slopes_of([](value x) { return log_sigmoid(x); }, {-1000, 0, 1000}), (list{1, 0.5, 0}));
  EXPECT_EQ(slopes_of([](value x) { return mish(x); }, {-1000, 1000}), (list{0, 1}));
  EXPECT_EQ(slopes_of([](value x) { return softsign(x); }, {-1, 0, 3}), (list{0.25, 1, 0.0625}));
  auto const y = test::run([](auto const& in) { return log_sigmoid(in[0]); },
                           {test::from_doubles(dtype::float32, {2}, {-1000, NAN})});
  EXPECT_EQ(test::to_doubles(y)[0], -1000);
  EXPECT_TRUE(std::isnan(test::to_doubles(y)[1]));
}

TEST(prelu, has_a_slope_for_all_channels_or_for_each) {
  graph g;
  auto const x = placeholder<float, "n", 2>(g, "x");
  auto const slope = placeholder<float, 2>(g, "slope");
  auto const y = prelu(x, slope);
  static_assert(decltype(y)::static_type == of<float, "n", 2>);
  auto const [ds] = gradients(sum(y), slope);
  session s{g};
  auto const [found, slopes] =
      s.run({{x, matrix<float>({{-2, -2}, {4, -1}})}, {slope, rill::vector<float>({0.5, 0.25})}}, y, ds);
  EXPECT_EQ(test::to_doubles(found), (list{-1, -0.5, 4, -0.25}));
  EXPECT_EQ(test::to_doubles(slopes), (list{-2, -3}));
}

TEST(gelu_tanh, keeps_small_results_that_1_and_tanh_would_lose) {
  auto const y =
      test::run([](auto const& in) { return gelu_tanh(in[0]); }, {test::from_doubles(dtype::float32, {1}, {-6.5})});
  EXPECT_NEAR(test::to_doubles(y)[0] / -6.27831120425526e-13, 1, 1e-5);
}

TEST(clamp, keeps_x_between_numbers_or_values_that_broadcast_and_shares_the_gradient_at_a_bound) {
  graph g;
  auto x = placeholder<double, 4>(g, "x");
  auto low = placeholder<double>(g, "low");
  static_assert(decltype(clamp(x, 0., 6.))::static_type == of<double, 4>);
  auto y = clamp(x, low, 6.);
  auto [dx, dlow] = gradients(sum(y), x, low);
  session s{g};
  auto const [a, b, c] =
      s.run({{x, rill::vector<double>({-1, 0, 3, 7})}, {low, tensor_of<of<double>>(0.)}}, y, dx, dlow);
  EXPECT_EQ(test::to_doubles(a), (list{0, 0, 3, 6}));
  EXPECT_EQ(test::to_doubles(b), (list{0, 0.5, 1, 0}));
  EXPECT_EQ(test::to_doubles(c), (list{1.5}));
}

TEST(reciprocal, and_rsqrt_are_infinite_at_0_and_have_their_derivatives) {
  graph g;
  auto x = placeholder<double, 3>(g, "x");
  auto a = reciprocal(x), b = rsqrt(x);
  auto [da] = gradients(sum(a), x);
  auto [db] = gradients(sum(b), x);
  session s{g};
  auto const [y, z, dy, dz] = s.run({{x, rill::vector<double>({0, 1, 4})}}, a, b, da, db);
  EXPECT_EQ(test::to_doubles(y), (list{INFINITY, 1, 0.25}));
  EXPECT_EQ(test::to_doubles(z), (list{INFINITY, 1, 0.5}));
  EXPECT_EQ(dy.values()[2], -1.0 / 16);
  EXPECT_EQ(dz.values()[2], -1.0 / 16);
}

struct selu_of {
  auto operator()(auto x) const { return selu(x); }
  template <class Wide> static Wide exact(Wide x) {
    long double const scale = 1.0507009873554804934193349852946L, alpha = 1.6732632423543772848170429916717L;
    return static_cast<Wide>(x > 0 ? scale * x : scale * alpha * std::expm1(static_cast<long double>(x)));
  }
};
struct hardswish_of {
  auto operator()(auto x) const { return hardswish(x); }
  template <class Wide> static Wide exact(Wide x) {
    return x <= -3 ? 0 : x >= 3 ? x : static_cast<Wide>(static_cast<long double>(x) * (x + 3.0L) / 6);
  }
};

TEST(activations, of_several_operations_are_within_2_4_ulp) {
  EXPECT_LE(test::worst_error_of_sampled_floats(selu_of(), 20011), 2.4);
  EXPECT_LE(test::worst_error_of_random_doubles(selu_of(), 3, 100'000), 2.4L);
  EXPECT_LE(test::worst_error_of_sampled_floats(hardswish_of(), 20011), 2.4);
  EXPECT_LE(test::worst_error_of_random_doubles(hardswish_of(), 3, 100'000), 2.4L);
}

// Each as a lambda of its own would: the whole of it would round once less, or differently, if a pass cared for that.
constexpr auto steps = [](auto x) {
  return abs(x) - neg(x) + sign(x) * 3 + floor(x) - ceil(x * 0.5) + round(x * 0.3) * trunc(x) + mod(x, 3) - mod(7, x) +
         floor_div(x, 2) - floor_div(9, x);
};
constexpr auto curves = [](auto x) {
  return expm1(x) + log1p(abs(x)) * softplus(x) + erf(x) - pow(abs(x), 1.5) + pow(2, x) * rsqrt(abs(x) + 1) +
         reciprocal(x + 10) + log(abs(x)) - exp(-abs(x)) + sqrt(abs(x)) + tanh(x) * sigmoid(x) + square(x);
};
constexpr auto angles = [](auto x) { return sin(x) + cos(x * 1000) - tan(x * 1e5) + atan2(x, 2) * atan2(3, x); };
constexpr auto units = [](auto x) {
  return silu(x) + gelu(x) - gelu_tanh(x) + leaky_relu(x) * elu(x) + selu(x) - relu6(x) + clamp(x, -1, 2) + relu(x) +
         maximum(x, 1) - maximum(2, x) + minimum(x, 1) * minimum(-2, x);
};
constexpr auto more_units = [](auto x) {
  return hardtanh(x) + hardsigmoid(x) * hardswish(x) - log_sigmoid(x) + mish(x) * softsign(x) + celu(x, 2) -
         prelu(x, x * 0.1);
};
constexpr auto choices = [](auto x) {
  auto const odd = (is_nan(x) | is_inf(x)) | ~is_finite(x);
  auto const near = logical_and(less(x, 2), greater(x, -2)), far = logical_or(less_equal(x, -1), greater_equal(x, 1));
  auto const either = logical_xor(near, far) ^ logical_not(equal(x, 0));
  return select(odd, 9, x) + select(either, x, 1) * select(not_equal(x, 3) & (0.5 < x), x, -x);
};

// The operations one by one; joined by the fusion pass; as a lambda's program; and as the lambda that is compiled.
template <class T> void expect_the_same_bits(auto f) {
  constexpr auto d = dtype_of<T>;
  std::vector<double> v{0, -0.0, 1, -1, 2, 3, INFINITY, -INFINITY, NAN};
  for (int i = -50; i < 50; ++i) v.push_back(i * 0.37 + 0.01);
  auto const numbers = test::from_doubles(d, {static_cast<std::int64_t>(v.size())}, v);
  graph g;
  auto const x = placeholder<T, "n">(g, "x");
  auto const plain = f(x), compiled = fuse(f, x), program = fuse([f](auto a) { return f(a); }, x);
  session one_by_one{g, {.passes = pass_options::none()}}, joined{g};
  auto const a = one_by_one.run({{x, numbers}}, plain), b = joined.run({{x, numbers}}, plain),
             c = one_by_one.run({{x, numbers}}, compiled), e = one_by_one.run({{x, numbers}}, program);
  auto const rows = a.elements();
  for (std::int64_t i = 0; i < rows; ++i) {
    // Of NaN the sign may be another.
    auto const at_i = [&](tensor const& t) { return test::to_doubles(t)[static_cast<std::size_t>(i)]; };
    if (std::isnan(at_i(a))) {
      EXPECT_TRUE(std::isnan(at_i(b)) && std::isnan(at_i(c)) && std::isnan(at_i(e))) << v[static_cast<std::size_t>(i)];
      continue;
    }
    EXPECT_TRUE(same_bits(tensor(a).rows(i, i + 1), tensor(b).rows(i, i + 1))) << v[static_cast<std::size_t>(i)];
    EXPECT_TRUE(same_bits(tensor(a).rows(i, i + 1), tensor(c).rows(i, i + 1))) << v[static_cast<std::size_t>(i)];
    EXPECT_TRUE(same_bits(tensor(a).rows(i, i + 1), tensor(e).rows(i, i + 1))) << v[static_cast<std::size_t>(i)];
  }
}

template <class T> class elementwise_of : public testing::Test {};
using types = testing::Types<half, bfloat16, float, double>;
TYPED_TEST_SUITE(elementwise_of, types);

TYPED_TEST(elementwise_of, every_float_has_the_same_bits_alone_joined_and_in_a_lambda) {
  expect_the_same_bits<TypeParam>(steps);
  expect_the_same_bits<TypeParam>(curves);
  expect_the_same_bits<TypeParam>(angles);
  expect_the_same_bits<TypeParam>(units);
  expect_the_same_bits<TypeParam>(more_units);
  expect_the_same_bits<TypeParam>(choices);
}

template <class T> void expect_the_same_integers() {
  constexpr auto f = [](auto x) {
    return abs(x) + sign(x) * mod(x, 5) - floor_div(x, 3) + pow(x, 3) * clamp(x, 1, 7) + maximum(x, 3) - minimum(2, x) +
           select(greater(x, 4), x, square(x));
  };
  std::vector<double> v;
  for (int i = 0; i < 128; ++i) v.push_back(std::is_signed_v<T> ? i * 2 - 128 : i * 2);
  auto const numbers = test::from_doubles(dtype_of<T>, {128}, v);
  graph g;
  auto const x = placeholder<T, 128>(g, "x");
  auto const plain = f(x), compiled = fuse(f, x), program = fuse([f](auto a) { return f(a); }, x);
  session s{g, {.passes = pass_options::none()}};
  auto const [a, b, c] = s.run({{x, numbers}}, plain, compiled, program);
  EXPECT_TRUE(same_bits(a, b) && same_bits(a, c)) << name(dtype_of<T>);
}

TEST(elementwise, operations_of_integers_have_the_same_bits_alone_and_in_a_lambda) {
  expect_the_same_integers<std::int8_t>();
  expect_the_same_integers<std::int32_t>();
  expect_the_same_integers<std::int64_t>();
  expect_the_same_integers<std::uint8_t>();
  expect_the_same_integers<std::uint32_t>();
}

}  // namespace
}  // namespace rill

// A user's file in which both namespaces are open: the names that std has too mean what their arguments say.
namespace of_a_user {

using namespace std;
using namespace rill;

TEST(names, of_the_standard_library_are_not_ambiguous_where_both_namespaces_are_used) {
  graph g;
  auto x = placeholder<float, 2>(g, "x");
  rill::value v = x;
  auto y = abs(x) + pow(x, 2.f) + floor(x) + ceil(x) + round(x) + trunc(x) + sin(x) + cos(x) + tan(x) + atan2(x, x) +
           erf(x) + expm1(x) + log1p(abs(x)) + exp(x) + sqrt(abs(x)) + clamp(x, x, x) + clamp(x, 0.f, 1.f);
  rill::value erased = abs(v) + pow(v, v) + pow(2.f, v) + clamp(v, v, v) + max(v) + min(3, 4) * round(v);
  EXPECT_EQ(abs(-3), 3);
  EXPECT_EQ(abs(-3.5), 3.5);
  EXPECT_EQ(pow(2., 3.), 8);
  EXPECT_EQ(pow(2, 3), 8);
  EXPECT_EQ(floor(2.5f), 2);
  EXPECT_EQ(clamp(9, 1, 3), 3);
  session s{g};
  auto const [a, b] = s.run({{x, rill::vector<float>({1, 2})}}, y, erased);
  EXPECT_TRUE(isfinite(a.values()[0]) && b.elements() == 2);
}

}  // namespace of_a_user
