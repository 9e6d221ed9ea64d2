// Sizes that overflow, narrow to 32 bits or mix signs.
#include "hostile.hpp"

namespace rill::test {
namespace {

// One that there may be beside a zero, or nothing where even the number of bytes of a part can't be told.
std::optional<tensor> empty_tensor(dtype e, shape const& s) {
  try {
    return tensor(e, s);
  } catch (error const& refused) {
    EXPECT_EQ(refused.code(), code::invalid_argument);
    return {};
  }
}

constexpr std::int64_t large[] = {(std::int64_t{1} << 31) - 1,
                                  std::int64_t{1} << 31,
                                  std::int64_t{1} << 32,
                                  (std::int64_t{1} << 32) + 1,
                                  std::int64_t{1} << 61,
                                  std::int64_t{1} << 62,
                                  INT64_MAX};

// Extents that no memory holds can be fed where another extent is 0.
TEST(advisories_sizes, huge_extents_beside_a_zero_are_computed_or_refused) {
  for (auto const& good : good_calls())
    for (std::size_t i = 0; i < good.inputs.size(); ++i)
      for (std::size_t zero = 0; zero < good.inputs[i].rank(); ++zero)
        for (std::size_t axis = 0; axis < good.inputs[i].rank(); ++axis) {
          if (axis == zero) continue;
          for (auto extent : {large[1], large[3], std::int64_t{1} << 56, large[5], large[6]}) {
            auto c = good;
            auto s = good.inputs[i].shape();
            s[zero] = 0, s[axis] = extent;
            auto const t = empty_tensor(good.inputs[i].element(), s);
            if (!t) continue;
            c.inputs[i] = *t;
            expect_steady(c);
          }
        }
}

TEST(advisories_sizes, huge_extents_of_all_inputs_beside_a_zero_are_computed_or_refused) {
  for (auto const& good : good_calls())
    for (std::size_t zero = 0; zero < 4; ++zero)
      for (auto extent : {std::int64_t{1} << 19, std::int64_t{1} << 29, large[0], std::int64_t{1} << 58, large[6]}) {
        auto c = good;
        for (auto& t : c.inputs) {
          if (zero >= t.rank()) continue;
          auto s = t.shape();
          for (std::size_t k = 0; k < s.rank(); ++k) s[k] = k == zero ? 0 : extent;
          if (auto const made = empty_tensor(t.element(), s)) t = *made;
        }
        expect_steady(c);
      }
}

// Known while the graph is written, and far too large to run: nothing wraps to a small buffer.
TEST(advisories_sizes, types_of_huge_extents_are_refused_or_end_in_an_error) {
  for (auto const& good : good_calls())
    for (auto extent : large) {
      graph g;
      std::vector<value> x;
      for (auto const& t : good.inputs) {
        type huge = t.type();
        for (std::size_t k = 0; k < huge.rank; ++k)
          if (huge[k].extent > 1) huge[k] = extent;
        // Every element is the same: a scalar is broadcast, as large as it must be.
        x.push_back(placeholder(g, huge));
      }
      try {
        node probe;
        probe.op = good.op;
        probe.attributes = good.attributes;
        for (std::size_t i = 0; i < x.size(); ++i)
          if (takes_reference(probe, i)) x[i] = variable(g, x[i].type(), "v" + std::to_string(i));
        auto const y = g.add(*good.op, good.attributes, x);
        if (good.differentiable && !y.origin().outputs.empty() && is_differentiable(y.type().element))
          gradients(sum(y, extents{}), std::vector<value>(x.begin(), x.begin() + 1), true);
      } catch (error const& e) {
        EXPECT_TRUE(is_refusal(e.code())) << good.text() << ": " << e.what();
      }
    }
}

// A result that is larger than 64 bits, or than there is memory, from small inputs.
TEST(advisories_sizes, results_that_no_memory_holds_are_errors) {
  graph g;
  auto const scalar = constant(g, 1.0);
  session s(g, {.threads = 1});
  auto const none = placeholder(g, type::of_unknown_rank(dtype::float64));
  auto const which = placeholder(g, type::of_unknown_rank(dtype::int64));
  for (auto extent : large) {
    auto const refuses = [&](auto record) {
      try {
        s.run({{none, tensor(1.0)}, {which, tensor(std::int64_t{0})}}, record());
        ADD_FAILURE() << extent;
      } catch (error const& e) {
        EXPECT_TRUE(is_refusal(e.code())) << e.what();
      }
    };
    if (extent < std::int64_t{1} << 61 && extent < std::int64_t{1} << 32) continue;  // large, but memory may do
    refuses([&] { return fill(scalar, shape{extent, extent}); });
    refuses([&] { return fill(scalar, shape{extent, 16}); });
    refuses([&] { return fill(none, shape{extent, 1 << 20}); });
    refuses([&] { return one_hot(which, extent, dtype::float64) + fill(scalar, shape{1 << 20, 1}); });
    refuses([&] { return uniform(g, type(dtype::float64, {dim(extent), dim(1 << 20)})); });
    refuses([&] { return normal(g, type(dtype::float64, {dim(extent), dim(16), dim(1 << 20)})); });
  }
  EXPECT_EQ(s.run(scalar).item<double>(), 1.0);
}

TEST(advisories_sizes, broadcasting_to_more_elements_than_64_bits_count_is_an_error) {
  graph g;
  std::vector<value> x;
  std::vector<feed> feeds;
  // Eight operands, each long in an axis of its own: 2^64 elements together.
  for (int i = 0; i < 8; ++i) {
    x.push_back(placeholder(g, type::of_unknown_rank(dtype::int8)));
    shape s{1, 1, 1, 1, 1, 1, 1, 1};
    s[static_cast<std::size_t>(i)] = 256;
    feeds.emplace_back(x.back(), tensor(from_doubles(dtype::int8, s, std::vector<double>(256))));
  }
  auto y = x[0];
  for (int i = 1; i < 8; ++i) y = y + x[static_cast<std::size_t>(i)];
  for (bool fused : {true, false}) {
    session s(g, {.threads = 1, .passes = fused ? pass_options{} : pass_options::none()});
    EXPECT_THROW(s.run(feeds, y), error);
  }
}

void expect_named(std::string_view node, code wanted, auto const& run) {
  try {
    run();
    ADD_FAILURE() << "no error";
  } catch (error const& e) {
    EXPECT_EQ(e.code(), wanted) << e.what();
    EXPECT_EQ(e.node(), node) << e.what();
  }
}

// Fetched, or read by another node alone.
TEST(advisories_sizes, an_error_of_too_little_memory_names_the_node_that_needs_it) {
  constexpr std::int64_t many = std::int64_t{1} << 22;
  for (bool const fetched : {true, false}) {
    graph g;
    auto a = placeholder(g, type(dtype::float32, {unknown, 1}));
    value const product = matmul(a, transpose(a, {}));
    value const y = fetched ? product : max(product);
    session s(g);
    expect_named("matmul", code::resource_exhausted, [&] { s.run({{a, tensor(dtype::float32, {many, 1})}}, y); });
    EXPECT_EQ(s.run({{a, tensor(dtype::float32, {0, 1})}}, product).shape(), (shape{0, 0}));
  }
  graph g;
  auto words = placeholder(g, type(dtype::string, {unknown, 1}));
  session s(g);
  auto const all = select(constant(g, tensor(true)), words, transpose(words, {}));
  expect_named("select", code::resource_exhausted, [&] { s.run({{words, tensor(dtype::string, {1 << 21, 1})}}, all); });
  auto which = placeholder(g, type(dtype::int64, {unknown}));
  expect_named("one_hot", code::invalid_argument,
               [&] { s.run({{which, tensor(dtype::int64, {1024})}}, sum(one_hot(which, std::int64_t{1} << 58))); });
}

}  // namespace
}  // namespace rill::test
