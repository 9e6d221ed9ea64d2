#include "rill/ops/network/margin_losses.hpp"

#include <cmath>

#include "../run.hpp"
#include "rill/grad/gradients.hpp"

namespace rill {
namespace {

using row = expr<of<float, "n", 3>>;
using number_of_row = expr<of<float, "n">>;
static_assert(decltype(squared_hinge(row{}, row{}))::static_type == of<float, "n", 3>);
static_assert(decltype(soft_margin(row{}, row{}))::static_type == of<float, "n", 3>);
static_assert(decltype(hinge_embedding(row{}, row{}))::static_type == of<float, "n", 3>);
static_assert(decltype(margin_ranking(row{}, row{}, row{}))::static_type == of<float, "n", 3>);
static_assert(decltype(multi_margin(row{}, expr<of<int, "n">>{}))::static_type == of<float, "n">);
static_assert(decltype(cosine_similarity(row{}, row{}))::static_type == of<float, "n">);
static_assert(decltype(cosine_embedding(row{}, row{}, number_of_row{}))::static_type == of<float, "n">);
static_assert(decltype(triplet_margin(row{}, row{}, row{}))::static_type == of<float, "n">);

using doubles = std::vector<double>;

doubles losses_of(std::vector<doubles> const& operands, std::function<value(std::vector<value> const&)> const& loss) {
  std::vector<tensor> in;
  for (auto const& x : operands)
    in.push_back(test::from_doubles(dtype::float64, {static_cast<std::int64_t>(x.size())}, x));
  return test::to_doubles(test::run(loss, in));
}

TEST(margin_losses, are_0_from_the_margin_on) {
  EXPECT_EQ(losses_of({{0.5, 1, 3, -1}, {1, 1, 1, 1}}, [](auto const& x) { return squared_hinge(x[0], x[1]); }),
            (doubles{0.25, 0, 0, 4}));
  EXPECT_EQ(losses_of({{0.5, 3, 0.5, 3}, {1, 1, -1, -1}}, [](auto const& x) { return hinge_embedding(x[0], x[1], 2); }),
            (doubles{0.5, 3, 1.5, 0}));
  EXPECT_EQ(losses_of({{1, 1, 1}, {0, 2, 0}, {1, 1, -1}},
                      [](auto const& x) { return margin_ranking(x[0], x[1], x[2], 0.5); }),
            (doubles{0, 1.5, 1.5}));
  EXPECT_NEAR(losses_of({{1000}, {-1}}, [](auto const& x) { return soft_margin(x[0], x[1]); })[0], 1000, 1e-12);
}

TEST(multi_margin, leaves_the_labels_own_score_out) {
  auto const y =
      test::run([](auto const& in) { return multi_margin(in[0], in[1]); },
                {test::from_doubles(dtype::float64, {2, 3}, {2, 1.5, 0, 0, 0, 3}), vector<std::int32_t>({0, 1})});
  EXPECT_EQ(test::to_doubles(y), (doubles{0.5 / 3, (1 + 4) / 3.}));
  test::expect_error(code::invalid_argument, "index 0 is 3, and there are 3 rows", [] {
    test::run([](auto const& in) { return multi_margin(in[0], in[1]); },
              {test::scattered(dtype::float32, {1, 3}), vector<std::int32_t>({3})});
  });
}

TEST(cosine_similarity, of_a_vector_of_zeros_is_0_with_derivative_0) {
  for (auto element : {dtype::float16, dtype::bfloat16, dtype::float32, dtype::float64}) {
    graph g;
    auto const x = placeholder(g, type(element, {dim(2), dim(2)})), y = placeholder(g, type(element, {dim(2)}));
    auto const cosine = cosine_similarity(x, y);
    auto const dx = gradients(sum(cosine, {}), {x})[0], ddx = gradients(sum(dx, {}), {x})[0];
    session s{g};
    std::vector<feed> const feeds{{x, test::from_doubles(element, {2, 2}, {0, 0, 3, 4})},
                                  {y, test::from_doubles(element, {2}, {0, 2})}};
    auto const found = test::to_doubles(s.run(std::span<feed const>(feeds), cosine));
    EXPECT_EQ(found[0], 0);
    EXPECT_NEAR(found[1], 0.8, 4e-3);
    for (auto const& derivative : {dx, ddx}) {
      auto const slopes = test::to_doubles(s.run(std::span<feed const>(feeds), derivative));
      EXPECT_EQ(slopes[0], 0);
      EXPECT_EQ(slopes[1], 0);
      EXPECT_TRUE(std::isfinite(slopes[2]) && std::isfinite(slopes[3]));
    }
  }
}

// Lengths of vectors for which an element type has numbers with all digits, and some with fewer.
std::vector<double> lengths_in(dtype element) {
  if (element == dtype::float16) return {1e4, 1, 1e-4, 1e-6};
  if (element == dtype::float64) return {1e200, 1e30, 1, 1e-10, 1e-30, 1e-170, 1e-300};
  return {1e30, 1e19, 1, 1e-6, 1e-10, 1e-20, 1e-35};
}

TEST(cosine_similarity, does_not_depend_on_how_long_the_vectors_are) {
  for (auto element : {dtype::float16, dtype::bfloat16, dtype::float32, dtype::float64})
    for (double const a : lengths_in(element))
      for (double const b : lengths_in(element)) {
        SCOPED_TRACE(std::string(name(element)) + ", " + std::to_string(a) + ", " + std::to_string(b));
        graph g;
        auto const x = placeholder(g, type(element, {dim(2)})), y = placeholder(g, type(element, {dim(2)}));
        auto const cosine = cosine_similarity(x, y), loss = cosine_embedding(x, y, like(cosine, 1));
        auto const dx = gradients(cosine, {x})[0];
        session s{g, {.threads = 1}};
        // The number that 4 parts of the length are is exact, so that 3 and 4 parts are, as far as there are digits.
        double const part = std::exp2(std::floor(std::log2(a / 4))), other = std::exp2(std::floor(std::log2(b)));
        std::vector<feed> const feeds{{x, test::from_doubles(element, {2}, {3 * part, 4 * part})},
                                      {y, test::from_doubles(element, {2}, {0, other})}};
        auto const got = [&](value v) { return test::to_doubles(s.run(std::span<feed const>(feeds), v)); };
        EXPECT_NEAR(got(cosine)[0], 0.8, 4e-3);
        EXPECT_NEAR(got(loss)[0], 0.2, 1e-3);
        // -0.48 and 0.36 over the length.
        double const most = element == dtype::float16 ? 65504 : element == dtype::float64 ? 1e308 : 3e38;
        if (0.48 / 5 / part < most) {
          EXPECT_NEAR(got(dx)[0] * 5 * part, -0.48, 4e-3);
          EXPECT_NEAR(got(dx)[1] * 5 * part, 0.36, 4e-3);
        }
      }
}

TEST(cosine_embedding, asks_for_equal_directions_or_for_others) {
  auto const y = test::run([](auto const& in) { return cosine_embedding(in[0], in[1], in[2], 0.25); },
                           {test::from_doubles(dtype::float64, {3, 2}, {1, 0, 1, 0, 0, 1}),
                            test::from_doubles(dtype::float64, {2}, {2, 0}), vector<double>({1, -1, -1})});
  EXPECT_EQ(test::to_doubles(y), (doubles{0, 0.75, 0}));
}

TEST(triplet_margin, of_equal_vectors_is_the_margin_with_derivative_0) {
  graph g;
  auto const x = placeholder<double, 1, 3>(g, "x");
  auto const loss = triplet_margin(x, x, x, 0.25);
  auto const [dx] = gradients(sum(loss), x);
  session s{g};
  auto const [l, d] = s.run({{x, test::scattered(dtype::float64, {1, 3})}}, loss, dx);
  EXPECT_EQ(test::to_doubles(l), doubles{0.25});
  EXPECT_EQ(test::to_doubles(d), (doubles{0, 0, 0}));
}

TEST(triplet_margin, has_distances_of_any_length) {
  for (float const a : {1e30f, 1.f, 1e-10f, 1e-20f, 1e-30f}) {
    graph g;
    auto const x = placeholder<float, 2>(g, "x"), zeros = placeholder<float, 2>(g, "zeros");
    auto const loss = triplet_margin(x, zeros, x, 0);
    auto const [dx] = gradients(loss, x);
    session s{g, {.threads = 1}};
    auto const [l, d] = s.run({{x, vector<float>({3 * a, 4 * a})}, {zeros, vector<float>({0, 0})}}, loss, dx);
    EXPECT_NEAR(float(l) / a, 5, 1e-5);
    EXPECT_NEAR(d.values()[0], 0.6, 1e-6);
    EXPECT_NEAR(d.values()[1], 0.8, 1e-6);
  }
}

TEST(margin_losses, refuse_integers) {
  graph g;
  auto const x = placeholder(g, of<int, 3>);
  for (auto const& f : std::initializer_list<std::function<value()>>{
           [&] { return squared_hinge(x, x); }, [&] { return hinge_embedding(x, x); },
           [&] { return margin_ranking(x, x, x); }, [&] { return cosine_similarity(x, x); },
           [&] { return triplet_margin(x, x, x); }})
    test::expect_error(code::invalid_argument, "not of floats; cast it", [&] { f(); });
}

}  // namespace
}  // namespace rill
