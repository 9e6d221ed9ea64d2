#include "rill/ops/math/add_n.hpp"

#include "../run.hpp"
#include "base/sentence.hpp"

namespace rill {
namespace {

TEST(add_n, adds_from_the_first_to_the_last) {
  std::vector<tensor> x;
  for (unsigned i = 0; i < 20; ++i) x.push_back(test::scattered(dtype::float32, {70, 300}, i));
  for (std::size_t n : {1u, 2u, 3u, 20u}) {
    std::vector<tensor> const some(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(n));
    auto const y = test::run([](auto const& in) { return add_n(in); }, some, 4);
    for (std::int64_t i = 0; i < y.elements(); ++i) {
      float sum = some[0].data<float>()[i];
      for (std::size_t k = 1; k < n; ++k) sum += some[k].data<float>()[i];
      ASSERT_EQ(y.data<float>()[i], sum);
    }
  }
}

TEST(add_n, learns_extents_from_every_operand) {
  graph g;
  auto y = add_n(placeholder<float, unknown, 3>(g), placeholder<float, 2, unknown>(g));
  static_assert(decltype(y)::static_type == of<float, 2, 3>);
}

TEST(add_n, refuses_values_of_other_types) {
  graph g;
  auto const p = [&](type const& t) { return placeholder(g, t); };
  auto const refuses = [](char const* words, auto f) { test::expect_error(code::invalid_argument, words, f); };
  refuses("different extents", [&] { add_n({p(of<float, 2>), p(of<float, 1>)}); });
  refuses("different ranks", [&] { add_n({p(of<float, 2>), p(of<float>)}); });
  refuses("different element types", [&] { add_n({p(of<float, 2>), p(of<double, 2>)}); });
  refuses("not numbers", [&] { add_n({p(of<bool, 2>), p(of<bool, 2>)}); });
  refuses("there are no operands", [&] { add_n(std::vector<value>{}); });
}

TEST(add_n, takes_more_operands_than_a_node_does) {
  graph g;
  value const one = constant(g, 1);
  session s{g, {.threads = 1}};
  EXPECT_EQ(s.run(add_n(std::vector<value>(20'000, one))).item<int>(), 20'000);
  value const word = constant(g, tensor(std::string("a")), "word");
  for (auto const& words : {std::vector{word}, std::vector{word, word}}) {
    auto const e = error_of([&] { add_n(words); });
    EXPECT_EQ(e.code(), code::invalid_argument);
    EXPECT_EQ(e.node(), "word");
  }
}

}  // namespace
}  // namespace rill
