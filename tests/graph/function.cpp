#include "rill/graph/function.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/sentence.hpp"
#include "rill/graph/record_function.hpp"
#include "rill/ops/array/placeholder.hpp"
#include "rill/ops/math/arithmetic.hpp"

namespace rill {
namespace {

function_definition named(std::string name) {
  function_definition f;
  f.name = std::move(name);
  return f;
}

TEST(function_library, keeps_what_was_added_where_it_is) {
  function_library all;
  auto const* const first = &all.add(named("0"));
  for (int i = 1; i < 1000; ++i) all.add(named(std::to_string(i)));
  EXPECT_EQ(first->name, "0");
  EXPECT_EQ(all.find("0"), nullptr) << "it has no name yet";
  EXPECT_TRUE(all.defined().empty());
}

TEST(function_library, a_name_means_what_was_named_last) {
  function_library all;
  auto const &a = all.add(named("f")), &b = all.add(named("f"));
  EXPECT_EQ(all.rename("f", &a), nullptr);
  EXPECT_EQ(all.rename("f", &b), &a);
  EXPECT_EQ(all.find("f"), &b);
  EXPECT_EQ(all.find("g"), nullptr);
  EXPECT_EQ(all.rename("f", nullptr), &b);
  EXPECT_EQ(all.find("f"), nullptr);
  EXPECT_EQ(all.rename("f", nullptr), nullptr);
}

TEST(function_library, tells_what_was_defined_in_that_order) {
  function_library all;
  auto const &a = all.add(named("a")), &b = all.add(named("b"));
  all.define(b), all.define(a);
  EXPECT_EQ(all.defined(), (std::vector<function_definition const*>{&b, &a}));
}

TEST(function_library, is_read_while_others_define) {
  function_library all;
  all.rename("first", &all.add(named("first")));
  std::atomic<bool> ready{false}, found{true};
  {
    std::jthread reader([&] {
      for (ready = true; all.defined().size() < 500;) found = found && all.find("first") != nullptr;
    });
    while (!ready) std::this_thread::yield();
    for (int i = 0; i < 500; ++i) {
      auto const& f = all.add(named(std::to_string(i)));
      all.rename(f.name, &f);
      all.define(f);
    }
  }
  EXPECT_TRUE(found);
}

// A function of a graph that takes a value and reads a variable from outside.
struct affine {
  graph g;
  value slope = placeholder(g, of<float, "n">, "slope");
  function_definition const& f = recorded(g, slope);

  static function_definition const& recorded(graph& g, value const& slope) {
    return record_function(g, {.name = "affine", .arguments = {of<float, "n">}},
                           [&](function_definition const&, std::vector<value> const& in) {
                             return std::vector{add(mul(in[0], slope), in[0])};
                           });
  }
};

TEST(function_definition, says_what_its_body_takes_and_gives) {
  affine a;
  EXPECT_EQ(a.f.name, "affine");
  EXPECT_EQ(a.g.functions().find("affine"), &a.f);
  EXPECT_EQ(a.g.functions().defined(), std::vector<function_definition const*>{&a.f});
  EXPECT_EQ(a.f.captures, std::vector{a.slope.endpoint()});
  EXPECT_TRUE(a.f.references.empty());
  EXPECT_EQ(a.f.inputs(), 2u);
  EXPECT_EQ(a.f.effect, effect::none);
  EXPECT_FALSE(a.f.recursive);
  EXPECT_EQ(a.f.results, std::vector{type(of<float, "n">)});
}

TEST(function_definition, infers_results_of_the_extents_that_a_call_brings) {
  affine a;
  EXPECT_EQ(a.f.infer(std::vector<type>{of<float, 3>, of<float, 3>}), std::vector{type(of<float, 3>)});
  EXPECT_EQ(a.f.infer(std::vector<type>{of<float, 5>, of<float, 5>}), std::vector{type(of<float, 5>)});
  EXPECT_EQ(refusal([&] { a.f.infer(std::vector<type>{of<double, 3>, of<float, 3>}); }), code::invalid_argument);
  EXPECT_EQ(refusal([&] { a.f.infer(std::vector<type>{of<float, 3, 1>, of<float, 3>}); }), code::invalid_argument);
  EXPECT_EQ(refusal([&] { a.f.infer(std::vector<type>{of<float, 3>}); }), code::invalid_argument);
}

}  // namespace
}  // namespace rill
