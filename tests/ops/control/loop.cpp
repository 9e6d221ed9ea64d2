#include "rill/ops/control/loop.hpp"

#include <gtest/gtest.h>

#include "base/sentence.hpp"
#include "rill/rill.hpp"

namespace rill {
namespace {

using values = std::vector<value>;

// The subgraphs that a loop over one variable and one captured value is made of, as bytes from outside may have them.
struct parts {
  graph g;
  value first = constant(g, 1.f), limit = placeholder(g, of<float>, "limit"),
        rows = placeholder(g, of<float, 3, 2>, "rows");
  ops::loop_rules::attributes a;

  parts() {
    a.variables = 1;
    a.body = body({of<float>, of<float>}, [](values const& in) { return values{add(in[0], in[0])}; });
    a.condition = body({of<float>, of<float>}, [](values const& in) { return values{less(in[0], in[1])}; });
  }
  template <class F> std::shared_ptr<subgraph const> body(std::vector<type> const& arguments, F f) {
    return std::make_shared<subgraph const>(record_body(g, "body", arguments, f).subgraph);
  }
  value add_loop(values const& inputs) { return g.add(definition<ops::loop_op>(), encode(a), inputs, "loop"); }
  std::string refusal(values const& inputs) {
    return sentence([&] { add_loop(inputs); });
  }
};

bool says(std::string const& text, std::string_view words) { return text.find(words) != std::string::npos; }

TEST(loop, returns_its_variables_and_the_number_of_iterations) {
  parts t;
  auto const made = t.add_loop({t.first, t.limit});
  ASSERT_EQ(made.origin().outputs.size(), 2);
  session s(t.g);
  auto const [last, count] = s.run({{t.limit, tensor(100.f)}}, made, value{made.graph, made.node, 1});
  EXPECT_EQ(last.at<float>(), 128);
  EXPECT_EQ(count.at<std::int64_t>(), 7);
}

TEST(loop, refuses_parts_that_are_missing_or_miscounted) {
  auto const with = [](auto change) {
    parts t;
    change(t);
    return t.refusal({t.first, t.limit});
  };
  EXPECT_EQ(with([](parts&) {}), "");
  EXPECT_TRUE(says(with([](parts& t) { t.a.variables = -1; }), "the number of inputs is wrong"));
  EXPECT_TRUE(says(with([](parts& t) { t.a.updates = 1; }), "the number of inputs is wrong"));
  EXPECT_TRUE(says(with([](parts& t) { t.a.variables = 3; }), "the number of inputs is wrong"));
  EXPECT_TRUE(says(with([](parts& t) { t.a.variables = std::int64_t{1} << 62; }), "the number of inputs is wrong"));
  EXPECT_TRUE(says(with([](parts& t) { t.a.variables = 2; }), "as many values as there are loop variables"));
  EXPECT_TRUE(says(with([](parts& t) { t.a.rows = 1; }), "the condition takes the loop variables"));
  EXPECT_TRUE(says(with([](parts& t) { t.a.condition = std::make_shared<subgraph const>(); }), "it never ends"));
  EXPECT_TRUE(says(with([](parts& t) { t.a.body = t.body({of<float>}, [](values const& in) { return in; }); }),
                   "the body takes a different number of values"));
  EXPECT_TRUE(says(with([](parts& t) { t.a.condition = t.a.body; }), "the condition must be a scalar of bool"));
}

TEST(loop, refuses_rows_that_do_not_fit) {
  parts t;
  t.a.variables = 0;
  t.a.rows = 2;
  t.a.condition = std::make_shared<subgraph const>();
  t.a.body = t.body({of<float, 2>, type::of_unknown_rank(dtype::float32)},
                    [](values const& in) { return values{neg(in[0])}; });
  value const four = placeholder(t.g, of<float, 4>, "four"), three = placeholder(t.g, of<float, 3>, "three");
  EXPECT_TRUE(says(t.refusal({t.rows, four}), "different numbers of rows"));
  EXPECT_TRUE(says(t.refusal({t.rows, t.first}), "a value with rows must have rank 1 or more"));
  auto const made = t.add_loop({t.rows, three});
  EXPECT_EQ((value{made.graph, made.node, 1}.type()), (of<float, 3, 2>));
}

TEST(loop, leaves_an_extent_of_a_variable_open_that_its_body_changes) {
  parts t;
  t.a.body = t.body({type(dtype::float32, {unknown, 2}), of<float>},
                    [](values const& in) { return values{concat({in[0], in[0]}, 0)}; });
  t.a.condition = t.body({type(dtype::float32, {unknown, 2}), of<float>},
                         [](values const& in) { return values{less(sum(in[0]), in[1])}; });
  EXPECT_EQ(t.add_loop({t.rows, t.limit}).type(), type(dtype::float32, {unknown, 2}));
}

}  // namespace
}  // namespace rill
