// A check that does not stop the kernel, or exists only in debug builds.
#include "hostile.hpp"

namespace rill::test {
namespace {

// An update that comes after a call that fails must not happen, whatever the order of the nodes.
void expect_stopped(hostile_call const& bad) {
  recorded_call r(bad, declared::unranked);
  auto const counter = variable(constant(r.g, 0.0), "counter");
  operation const count = r.g.after({operation(r.y)}, [&] { return assign_add(counter, constant(r.g, 1.0)); });
  auto const start = initializer(r.g);
  for (auto const& passes : {pass_options{}, pass_options::none()})
    for (int threads : {1, 3}) {
      session s(r.g, {.threads = threads, .passes = passes});
      s.run(start);
      std::vector<feed> feeds, firsts;
      for (std::size_t i = 0, v = 0; i < r.x.size(); ++i)
        if (v < r.variables.size() && r.variables[v].node == r.x[i].node)
          firsts.emplace_back(r.fed_to_variable[v++], bad.inputs[i]);
        else feeds.emplace_back(r.x[i], bad.inputs[i]);
      if (r.first.graph) s.run(firsts, r.first);
      std::vector<tensor> before;
      for (auto const& v : r.variables) before.push_back(s.run(v).clone());
      EXPECT_THROW(s.run(feeds, count), error) << bad.text();
      EXPECT_EQ(s.run(counter).item<double>(), 0) << bad.text() << " was refused, and what depends on it was done";
      for (std::size_t v = 0; v < before.size(); ++v)
        EXPECT_TRUE(same_bits(s.run(r.variables[v]), before[v])) << bad.text() << " was refused, and wrote";
    }
}

bool recordable(hostile_call const& c) {
  try {
    recorded_call(c, declared::unranked);
    return true;
  } catch (error const&) {
    return false;
  }
}

TEST(advisories_checks, nothing_is_done_after_extents_that_were_refused) {
  std::size_t stopped = 0;
  for (auto const& good : good_calls())
    for (std::size_t i = 0; i < good.inputs.size(); ++i)
      for (std::size_t axis = 0; axis < good.inputs[i].rank(); ++axis) {
        auto c = good;
        auto s = c.inputs[i].shape();
        s[axis] += 4;
        c.inputs[i] = mild(type(c.inputs[i].element(), s), dtypes::indices.contains(c.inputs[i].element()) ? 3 : 0);
        if (!recordable(c) || attempt(c)) continue;
        expect_stopped(c);
        ++stopped;
      }
  EXPECT_GT(stopped, at_least(100));
}

TEST(advisories_checks, nothing_is_done_after_values_that_were_refused) {
  std::size_t stopped = 0;
  for (auto const& good : good_calls())
    for (std::size_t i = 0; i < good.inputs.size(); ++i) {
      auto c = good;
      auto& t = c.inputs[i] = good.inputs[i].clone();
      if (t.elements() == 0) continue;
      auto const last = t.elements() - 1;
      if (t.element() == dtype::int32) t.mutable_data<std::int32_t>()[last] = 100;
      else if (t.element() == dtype::int64) t.mutable_data<std::int64_t>()[last] = -100;
      else if (t.element() == dtype::boolean) t.mutable_data<bool>()[last] = false;
      else if (t.element() == dtype::float64) t.mutable_data<double>()[last] = NAN;
      else continue;
      if (attempt(c)) continue;
      expect_stopped(c);
      ++stopped;
    }
  EXPECT_GE(stopped, at_least(8));
}

}  // namespace
}  // namespace rill::test
