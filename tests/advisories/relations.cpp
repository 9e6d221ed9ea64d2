// A relation between inputs that nobody checks, most often in gradient kernels.
#include "hostile.hpp"

namespace rill::test {
namespace {

// What is given to `i` instead: another extent at one axis.
template <class F> void for_each_other_extent(hostile_call const& good, std::size_t i, F f) {
  auto const s = good.inputs[i].shape();
  for (std::size_t axis = 0; axis < s.rank(); ++axis)
    for (std::int64_t extent : {s[axis] + 1, s[axis] - 1, s[axis] * 2, std::int64_t{1}}) {
      auto other = s;
      other[axis] = extent;
      if (extent >= 0 && other != s) f(other);
    }
}

tensor of_extents(hostile_call const& good, std::size_t i, shape const& s) {
  auto const e = good.inputs[i].element();
  if (e == dtype::boolean) return from_doubles(e, s, std::vector<double>(static_cast<std::size_t>(elements(s)), 1));
  return mild(type(e, s), dtypes::indices.contains(e) ? 3 : 0, static_cast<unsigned>(i) + 1);
}

TEST(advisories_relations, an_extent_of_one_input_that_differs_is_computed_or_refused_as_when_it_was_known) {
  std::size_t refused = 0;
  for (auto const& good : good_calls())
    for (std::size_t i = 0; i < good.inputs.size(); ++i)
      for_each_other_extent(good, i, [&](shape const& s) {
        auto c = good;
        c.inputs[i] = of_extents(good, i, s);
        refused += !expect_steady(c);
      });
  EXPECT_GT(refused, at_least(1000));
}

TEST(advisories_relations, extents_of_two_inputs_that_differ_are_computed_or_refused_as_when_they_were_known) {
  for (auto const& good : good_calls()) {
    if (good.inputs.size() < 2) continue;
    auto const open_extents = good.op->effect == effect::writes ? declared::known : declared::unranked;
    for (std::size_t i = 1; i < good.inputs.size(); ++i)
      for_each_other_extent(good, 0, [&](shape const& a) {
        for_each_other_extent(good, i, [&](shape const& b) {
          auto c = good;
          c.inputs[0] = of_extents(good, 0, a);
          c.inputs[i] = of_extents(good, i, b);
          auto const open = attempt(c, open_extents), known = attempt(c, declared::known, false, 0xff);
          ASSERT_EQ(bool(open), bool(known)) << c.text() << ": " << open.words << " | " << known.words;
          for (std::size_t k = 0; k < open.results.size(); ++k)
            ASSERT_TRUE(same_bits(open.results[k], known.results[k])) << c.text();
        });
      });
  }
}

TEST(advisories_relations, inputs_that_have_changed_places_are_computed_or_refused) {
  for (auto const& good : good_calls())
    for (std::size_t i = 1; i < good.inputs.size(); ++i) {
      auto c = good;
      std::swap(c.inputs[0], c.inputs[i]);
      expect_steady(c);
    }
}

TEST(advisories_relations, inputs_that_are_missing_or_too_many_are_refused) {
  for (auto const& good : good_calls()) {
    auto c = good;
    if (!c.inputs.empty()) {
      c.inputs.pop_back();
      auto const made = attempt(c);
      EXPECT_TRUE(!made || good.op->arity < 0) << c.text();
    }
    c = good;
    c.inputs.push_back(good.inputs.empty() ? tensor(1.0) : good.inputs[0]);
    auto const made = attempt(c);
    EXPECT_TRUE(!made || good.op->arity < 0) << c.text();
  }
}

}  // namespace
}  // namespace rill::test
