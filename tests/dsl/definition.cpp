#include "rill/dsl/definition.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "rill/dsl/expr.hpp"
#include "rill/ops/array/constant.hpp"
#include "rill/ops/list/registry.hpp"
#include "rill/ops/math/arithmetic.hpp"

namespace rill {
namespace {

struct plain_op {
  static constexpr std::string_view name = "plain", doc = "what it does";
  static constexpr std::int8_t arity = 2;
  struct attributes {
    std::int64_t axis = 0;
    bool keep = false;
    static constexpr auto fields(auto const& take) {
      return take(field{"axis", &attributes::axis}, field{"keep", &attributes::keep});
    }
  };
  static constexpr double flops = 3;
  static constexpr type infer(attributes const& a, type const& x, type const&) { return a.keep ? x : type(x.element); }
};

TEST(definition, takes_from_an_operation_what_it_says_and_defaults_for_the_rest) {
  auto const& d = definition<plain_op>();
  EXPECT_EQ(d.name, "plain");
  EXPECT_EQ(d.doc, "what it does");
  EXPECT_EQ(d.arity, 2);
  EXPECT_EQ(d.outputs, 1);
  EXPECT_EQ(d.effect, effect::none);
  EXPECT_FALSE(d.commutes);
  EXPECT_EQ(d.grad, nullptr);
  EXPECT_EQ(d.cpu, nullptr);
  EXPECT_EQ(d.elementwise, nullptr);
}

TEST(definition, names_the_attributes_in_their_order) {
  auto const names = definition<plain_op>().attributes;
  ASSERT_EQ(names.size(), 2);
  EXPECT_EQ(names[0], "axis");
  EXPECT_EQ(names[1], "keep");
  EXPECT_TRUE(definition<ops::add_op>().attributes.empty());
}

TEST(definition, is_one_for_the_whole_program) {
  EXPECT_EQ(&definition<plain_op>(), &definition<plain_op>());
  graph g;
  value const x = constant(g, 1.f);
  EXPECT_EQ(add(x, x).origin().op, &definition<ops::add_op>());
}

TEST(definition, infers_from_erased_attributes) {
  std::vector<type> out;
  std::vector<type> const in{of<float, 3>, of<float, 3>};
  definition<plain_op>().infer(encode(plain_op::attributes{0, true}), in, out);
  EXPECT_EQ(out, (std::vector<type>{of<float, 3>}));
  EXPECT_THROW(definition<plain_op>().infer({}, in, out), error);
}

TEST(definition, counts_work_an_element_and_the_bytes_that_pass) {
  std::vector<type> const in{of<float, 10>, of<float, 10>}, out{of<float, 10>}, open{of<float, unknown>};
  auto const c = definition<plain_op>().work(encode(plain_op::attributes{}), in, out);
  EXPECT_EQ(c.flops, 30);
  EXPECT_EQ(c.bytes, 3 * 40);
  EXPECT_EQ(definition<plain_op>().work(encode(plain_op::attributes{}), open, open).flops, 0);
}

TEST(definition, of_every_operation_has_a_name_of_its_own_words_and_an_inference) {
  std::vector<std::string_view> names;
  for (auto const* op : all_operations()) {
    EXPECT_FALSE(op->name.empty());
    EXPECT_FALSE(op->doc.empty()) << op->name;
    EXPECT_NE(op->infer, nullptr) << op->name;
    EXPECT_NE(op->work, nullptr) << op->name;
    names.push_back(op->name);
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
}

TEST(definition, of_every_operation_names_attributes_that_it_has) {
  for (auto const* op : all_operations())
    for (auto name : {op->constant_value, op->declared_type, op->result_element, op->counts_references,
                      op->counts_updates, op->draws_random, op->rendezvous})
      EXPECT_TRUE(name.empty() || std::count(op->attributes.begin(), op->attributes.end(), name) == 1)
          << op->name << " has no attribute " << name;
}

}  // namespace
}  // namespace rill
