#include "rill/graph/codec_functions.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "base/sentence.hpp"
#include "rill/grad/gradients.hpp"
#include "rill/graph/codec.hpp"
#include "rill/ops/array/placeholder.hpp"
#include "rill/ops/control/flow.hpp"
#include "rill/ops/control/function.hpp"
#include "rill/ops/list/registry.hpp"
#include "rill/ops/math/arithmetic.hpp"
#include "rill/ops/state/assign.hpp"
#include "rill/run/session.hpp"

namespace rill {
namespace {

// A function with something of everything: arguments, a capture, variables that it reads and updates.
struct sample {
  graph g;
  value const x = placeholder(g, of<float, 2>, "x");
  variable_value const read_one = variable(g, of<float, 2>, "read"), updated = variable(g, of<float, 2>, "updated");
  function_definition f = record_function(g, {.name = "f", .arguments = {of<float, 2>, of<float, 2>}, .most = {7}},
                                          [&](function_definition const&, std::vector<value> const& in) {
                                            return std::vector{value(assign_add(updated, add(mul(in[0], x), in[1]))),
                                                               add(value(read_one), in[0])};
                                          });

  std::string bytes() const {
    wire::writer to;
    wire::save(to, f);
    return to.take();
  }
  // What a reader says of the signature, after a change of the function.
  std::string refusal(std::function<void(function_definition&)> const& change) {
    change(f);
    auto const changed = bytes();
    return sentence([&] {
      wire::reader from(changed);
      wire::load_signature(from);
    });
  }
};

TEST(codec_functions, a_signature_is_read_as_it_was_written) {
  sample s;
  s.f.like = {0, -1};
  auto const bytes = s.bytes();
  wire::reader from(bytes);
  auto const again = wire::load_signature(from);
  EXPECT_EQ(again.name, "f");
  EXPECT_EQ(again.most.calls, 7);
  EXPECT_EQ(again.arguments, s.f.arguments);
  EXPECT_EQ(again.results, s.f.results);
  EXPECT_EQ(again.like, s.f.like);
  EXPECT_EQ(again.captures, std::vector{s.x.endpoint()});
  EXPECT_EQ(again.references, (std::vector{s.updated.node, s.read_one.node})) << "what it updates comes first";
  EXPECT_EQ(again.updates, 1);
  EXPECT_EQ(again.waits, s.f.waits);
  EXPECT_EQ(again.body, nullptr) << "it comes behind the signature";
}

TEST(codec_functions, refuses_signatures_that_no_function_has) {
  EXPECT_EQ(sample().refusal([](auto& f) { f.name = ""; }), "data_loss: a function's name is empty or has a ':'");
  EXPECT_EQ(sample().refusal([](auto& f) { f.name = "a:b"; }), "data_loss: a function's name is empty or has a ':'");
  for (std::int64_t calls : {std::int64_t{-1}, wire::deepest_calls + 1, INT64_MAX})
    EXPECT_EQ(sample().refusal([&](auto& f) { f.most.calls = calls; }),
              "data_loss: a function's depth limit is out of range");
  for (std::int64_t updates : {-1, 3})
    EXPECT_EQ(sample().refusal([&](auto& f) { f.updates = updates; }),
              "data_loss: a function updates more variables than it has");
  EXPECT_EQ(sample().refusal([](auto& f) { f.like = {0}; }),
            "data_loss: a function's results are not as many as its list of like types");
  for (std::int32_t like : {-2, 3})
    EXPECT_EQ(sample().refusal([&](auto& f) { f.like = {0, like}; }),
              "data_loss: a function's result has the type of an input that does not exist");
}

TEST(codec_functions, refuses_a_body_that_is_not_its_signatures) {
  sample s;
  auto const& body = *s.f.body;
  auto const why = [&](auto const& change) {
    auto f = s.f;
    change(f);
    return sentence([&] { wire::check_body(f, body); });
  };
  EXPECT_EQ(why([](auto&) {}), "");
  EXPECT_EQ(why([](auto& f) { f.arguments.pop_back(); }), "data_loss: a function's body has other inputs");
  EXPECT_EQ(why([](auto& f) { f.arguments[1] = of<float, 3>; }),
            "data_loss: a function's body has inputs of other types");
  EXPECT_EQ(why([](auto& f) { f.references.pop_back(); }), "data_loss: a function's body has other variables");
  EXPECT_NE(why([](auto& f) { f.results.pop_back(); }), "");
  EXPECT_NE(why([](auto& f) { f.results[0] = of<double, 2>; }), "");
}

TEST(codec_functions, refuses_what_the_graph_does_not_have) {
  sample s;
  EXPECT_NO_THROW(wire::check_functions(s.g));
  auto const why = [&](auto const& change) {
    graph other;
    auto const x = placeholder(other, of<float, 2>, "x");
    variable(other, of<float, 2>, "read"), variable(other, of<float, 2>, "updated");
    auto f = s.f;
    f.captures = {x.endpoint()};
    f.references = {2, 1};
    f.waits = {};
    change(f);
    other.functions().define(other.functions().add(std::move(f)));
    return sentence([&] { wire::check_functions(other); });
  };
  EXPECT_EQ(why([](auto&) {}), "");
  auto const refused = "data_loss: a function captures something that its graph does not have";
  EXPECT_EQ(why([](auto& f) { f.captures[0].node = 3; }), refused);
  EXPECT_EQ(why([](auto& f) { f.captures[0].port = 1; }), refused);
  EXPECT_EQ(why([](auto& f) { f.waits = {3}; }), refused);
  EXPECT_EQ(why([](auto& f) { f.references[0] = 3; }), refused) << "there is no such node";
  EXPECT_EQ(why([](auto& f) { f.references[0] = 0; }), refused) << "it is no variable";
  for (std::int64_t updates : {0, 2})
    EXPECT_EQ(why([&](auto& f) { f.updates = updates; }), "data_loss: a function updates other variables than it says");
}

TEST(codec_functions, a_function_whose_result_does_without_a_variable_that_it_mentions_travels) {
  graph g;
  auto const v = variable(constant(g, 2.f), "v");
  auto const f = function<"f", of<float>>(g, [&](auto a) { return a * a * v; });
  auto const [dv] = gradients(f(constant(g, 3.f)), v);
  initializer(g);
  auto const again = graph_from_bytes(to_bytes(g), all_operations());
  session s(*again);
  s.run(operation(again->find("initializer")));
  EXPECT_EQ(s.run(again->find(dv.name())).item<float>(), 9);
}

}  // namespace
}  // namespace rill
