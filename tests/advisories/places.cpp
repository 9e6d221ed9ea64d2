// An index, axis, permutation, count or window from outside, negative ones too.
#include "hostile.hpp"

namespace rill::test {
namespace {

constexpr std::int64_t hostile_numbers[] = {INT64_MIN,
                                            INT64_MIN + 1,
                                            -(std::int64_t{1} << 32),
                                            INT32_MIN,
                                            -9,
                                            -3,
                                            -2,
                                            -1,
                                            0,
                                            1,
                                            2,
                                            3,
                                            4,
                                            7,
                                            8,
                                            9,
                                            255,
                                            256,
                                            INT32_MAX,
                                            std::int64_t{1} << 31,
                                            std::int64_t{1} << 32,
                                            (std::int64_t{1} << 32) + 1,
                                            INT64_MAX - 1,
                                            INT64_MAX};

// Lists that no recording function would write.
template <class F> void for_each_hostile_list(extents const& good, F f) {
  for (std::size_t i = 0; i < good.size(); ++i)
    for (auto n : hostile_numbers) {
      auto other = good;
      other[i] = n;
      f(other);
    }
  for (auto n : hostile_numbers) {
    f(extents{n});
    f(extents{n, n});
    f(extents{n, n, n, n});
    f(extents{n, 0, 1, n, 2, 3, n, n});
  }
  f(extents{});
  f(extents{0, 0, 0});
  f(extents{0, 1, 2, 3, 4, 5, 6, 7});
  f(extents{-1, -2, -3, -4, -5, -6, -7, -8});
  auto longer = good;
  if (longer.size() < max_rank) {
    longer.push_back(1);
    f(longer);
  }
}

template <class F> void for_each_hostile_attribute(attribute const& good, F f) {
  if (std::holds_alternative<std::int64_t>(good))
    for (auto n : hostile_numbers) f(attribute(n));
  if (auto* list = std::get_if<extents>(&good))
    for_each_hostile_list(*list, [&](extents const& e) { f(attribute(e)); });
  if (std::holds_alternative<double>(good))
    for (double x : {double(-INFINITY), -1e308, -1.0, -0.0, 0.0, 1e-320, 1e308, double(INFINITY), double(NAN)})
      f(attribute(x));
  if (std::holds_alternative<dtype>(good))
    for (std::size_t i = 0; i < dtype_count; ++i) f(attribute(static_cast<dtype>(i)));
  if (auto* t = std::get_if<type>(&good)) {
    for (std::size_t i = 0; i < dtype_count; ++i) f(attribute(t->with(static_cast<dtype>(i))));
    f(attribute(type::of_unknown_rank(t->element)));
    f(attribute(type(t->element)));
    for (auto n : hostile_numbers)
      if (n >= 0) f(attribute(type(t->element, {dim(n), unknown}))), f(attribute(type(t->element, {dim(n), dim(n)})));
    f(attribute(type(t->element, {dim("a"), dim("b")})));
  }
}

TEST(advisories_places, every_number_list_and_type_of_every_node_is_checked) {
  std::size_t refused = 0, tried = 0;
  for (auto const& good : good_calls())
    for (std::size_t a = 0; a < good.attributes.size(); ++a)
      for_each_hostile_attribute(good.attributes[a].second, [&](attribute const& hostile) {
        auto c = good;
        c.attributes[a].second = hostile;
        ++tried;
        refused += !expect_steady(c);
      });
  EXPECT_GT(tried, at_least(3000));
  EXPECT_GT(refused, tried / 2);
}

TEST(advisories_places, an_attribute_of_another_kind_or_none_is_refused) {
  attribute const kinds[] = {true,
                             std::int64_t{1},
                             1.0,
                             std::string("x"),
                             dtype::int8,
                             type(dtype::float64),
                             extents{0},
                             tensor(1.0),
                             std::shared_ptr<program const>(),
                             std::vector<std::string>{"x"}};
  for (auto const& good : good_calls())
    for (std::size_t a = 0; a < good.attributes.size(); ++a) {
      for (auto const& other : kinds) {
        if (other.index() == good.attributes[a].second.index()) continue;
        auto c = good;
        c.attributes[a].second = other;
        EXPECT_FALSE(attempt(c)) << c.text();
      }
      auto c = good;
      c.attributes.erase(c.attributes.begin() + static_cast<std::ptrdiff_t>(a));
      EXPECT_FALSE(attempt(c)) << c.text();
    }
}

TEST(advisories_places, handles_of_no_tensor_and_no_program_are_refused) {
  for (auto const& good : good_calls())
    for (std::size_t a = 0; a < good.attributes.size(); ++a) {
      auto c = good;
      if (std::holds_alternative<tensor>(good.attributes[a].second)) c.attributes[a].second = tensor();
      else if (std::holds_alternative<std::shared_ptr<program const>>(good.attributes[a].second))
        c.attributes[a].second = std::shared_ptr<program const>();
      else continue;
      EXPECT_FALSE(attempt(c)) << c.text();
    }
}

// Indices are data: only the kernel can check them.
TEST(advisories_places, every_index_from_outside_is_an_error_or_no_place) {
  std::size_t refused = 0;
  for (auto const& good : good_calls())
    for (std::size_t i = 0; i < good.inputs.size(); ++i) {
      auto const& which = good.inputs[i];
      if (!dtypes::indices.contains(which.element()) || which.elements() == 0) continue;
      for (auto n : hostile_numbers)
        for (std::int64_t at : {std::int64_t{0}, which.elements() - 1}) {
          auto c = good;
          c.inputs[i] = which.clone();
          if (which.element() == dtype::int64) c.inputs[i].mutable_data<std::int64_t>()[at] = n;
          else if (std::in_range<std::int32_t>(n))
            c.inputs[i].mutable_data<std::int32_t>()[at] = static_cast<std::int32_t>(n);
          refused += !expect_steady(c);
        }
    }
  EXPECT_GT(refused, at_least(300));
}

TEST(advisories_places, an_index_from_outside_leaves_a_variable_as_it_was) {
  for (bool subtract : {false, true})
    for (double bad : {-1.0, 3.0, 2147483647.0, -2147483648.0}) {
      graph g;
      auto const v = variable(constant(g, counting(dtype::float64, {3, 2})), "v");
      auto const which = placeholder(g, type::of_unknown_rank(dtype::int32));
      auto const rows = placeholder(g, type::of_unknown_rank(dtype::float64));
      auto const update = subtract ? scatter_sub(v, which, rows) : scatter_add(v, which, rows);
      session s(g, {.threads = 1});
      s.run(initializer(g));
      expect_error(code::invalid_argument, "", [&] {
        s.run({{which, from_doubles(dtype::int32, {3}, {0, 1, bad})}, {rows, counting(dtype::float64, {3, 2})}},
              update);
      });
      EXPECT_TRUE(same_bits(s.run(v), counting(dtype::float64, {3, 2})));
    }
}

TEST(advisories_places, labels_from_outside_are_errors_in_the_gradient_too) {
  for (auto label : {dtype::int32, dtype::int64})
    for (double bad : {-1.0, 3.0, -2147483648.0}) {
      graph g;
      auto const x = placeholder(g, type::of_unknown_rank(dtype::float64));
      auto const labels = placeholder(g, type::of_unknown_rank(label));
      auto const loss = softmax_cross_entropy(x, labels);
      auto const dx = gradients(sum(loss, extents{}), std::vector<value>{x})[0];
      session s(g, {.threads = 1});
      std::vector<feed> const feeds{{x, counting(dtype::float64, {2, 3})},
                                    {labels, from_doubles(label, {2}, {0, bad})}};
      EXPECT_EQ(refusal([&] { s.run(feeds, loss); }), code::invalid_argument);
      EXPECT_EQ(refusal([&] { s.run(feeds, dx); }), code::invalid_argument);
    }
}

}  // namespace
}  // namespace rill::test
