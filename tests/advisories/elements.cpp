// A buffer that is read as another element type.
#include "hostile.hpp"
#include "rill/state/container.hpp"

namespace rill::test {
namespace {

TEST(advisories_elements, every_element_type_of_every_input_is_computed_or_refused) {
  for (auto const& good : good_calls())
    for (std::size_t i = 0; i < good.inputs.size(); ++i)
      for (std::size_t e = 0; e < dtype_count; ++e) {
        auto c = good;
        auto const to = static_cast<dtype>(e);
        c.inputs[i] = mild(type(to, good.inputs[i].shape()), dtypes::indices.contains(to) ? 3 : 0);
        expect_steady(c);
      }
}

TEST(advisories_elements, every_element_type_of_all_inputs_together_is_computed_or_refused) {
  for (auto const& good : good_calls())
    for (std::size_t e = 0; e < dtype_count; ++e) {
      auto c = good;
      auto const to = static_cast<dtype>(e);
      for (auto& t : c.inputs) t = mild(type(to, t.shape()), dtypes::indices.contains(to) ? 3 : 0);
      expect_steady(c);
    }
}

TEST(advisories_elements, a_feed_of_another_element_type_is_refused) {
  for (auto const& good : good_calls()) {
    recorded_call r(good, declared::unranked);
    session s(r.g, {.threads = 1});
    for (std::size_t i = 0; i < good.inputs.size(); ++i) {
      auto inputs = good.inputs;
      auto const other = inputs[i].element() == dtype::int8 ? dtype::float64 : dtype::int8;
      inputs[i] = tensor(other, inputs[i].shape());
      EXPECT_EQ(refusal([&] { r.run(s, inputs); }), code::invalid_argument) << good.text();
    }
  }
}

// A container may hold a variable that another graph made.
TEST(advisories_elements, a_variable_of_another_type_under_the_same_name_is_refused) {
  auto const state = std::make_shared<container>();
  graph first;
  variable(constant(first, counting(dtype::float64, {2, 2})), "v");
  session(first, {.threads = 1, .state = state}).run(initializer(first));
  for (auto const& t : {type(dtype::int8, {dim(2), dim(2)}), type(dtype::float64, {dim(4)}), type(dtype::string),
                        type::of_unknown_rank(dtype::complex128)}) {
    graph g;
    auto const v = variable(g, t, "v");
    session s(g, {.threads = 1, .state = state});
    EXPECT_TRUE(is_refusal(refusal([&] { s.run(v); }))) << t.text();
    EXPECT_TRUE(is_refusal(refusal([&] { s.run(read(v)); }))) << t.text();
  }
}

TEST(advisories_elements, a_tensor_is_not_read_as_another_element_type) {
  tensor const t(dtype::float32, {2});
  EXPECT_EQ(refusal([&] { t.data<double>(); }), code::invalid_argument);
  EXPECT_EQ(refusal([&] { t.span<std::string>(); }), code::invalid_argument);
  EXPECT_EQ(refusal([&] { tensor(dtype::float64, {2}, t.storage()); }), code::invalid_argument);
}

}  // namespace
}  // namespace rill::test
