#include "rill/graph/attribute.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace rill {
namespace {

enum class mode : std::uint8_t { first, second };

struct sample {
  bool flag = false;
  std::int32_t small = 0;
  std::uint8_t byte = 0;
  float number = 0;
  mode how = mode::first;
  dtype element = dtype::boolean;
  shape of;
  std::string text;
  tensor value;
  static constexpr auto fields(auto const& take) {
    return take(field{"flag", &sample::flag}, field{"small", &sample::small}, field{"byte", &sample::byte},
                field{"number", &sample::number}, field{"how", &sample::how}, field{"element", &sample::element},
                field{"of", &sample::of}, field{"text", &sample::text}, field{"value", &sample::value});
  }
};

attribute_list with(std::string_view name, attribute v) {
  auto list = encode(sample{.of = {}, .text = {}, .value = {}});
  for (auto& [key, old] : list)
    if (key == name) old = std::move(v);
  return list;
}

TEST(attribute, gives_an_operation_back_what_it_wrote) {
  sample const s{true, -5, 255, 1.5f, mode::second, dtype::string, shape{2, 3}, "text", tensor(4)};
  auto const again = decode<sample>(encode(s));
  EXPECT_TRUE(again.flag);
  EXPECT_EQ(again.small, -5);
  EXPECT_EQ(again.byte, 255);
  EXPECT_EQ(again.number, 1.5f);
  EXPECT_EQ(again.how, mode::second);
  EXPECT_EQ(again.element, dtype::string);
  EXPECT_EQ(again.of, (shape{2, 3}));
  EXPECT_EQ(again.text, "text");
  EXPECT_EQ(again.value.item<int>(), 4);
}

struct lists {
  std::int64_t count = 0;
  double fraction = 0;
  extents axes;
  type of;
  std::vector<std::string> names;
  std::vector<type> row;
  std::shared_ptr<program const> what;
  static constexpr auto fields(auto const& take) {
    return take(field{"count", &lists::count}, field{"fraction", &lists::fraction}, field{"axes", &lists::axes},
                field{"of", &lists::of}, field{"names", &lists::names}, field{"row", &lists::row},
                field{"what", &lists::what});
  }
};

TEST(attribute, is_a_copy_of_what_was_written) {
  auto const what = std::make_shared<program const>();
  lists const s{std::numeric_limits<std::int64_t>::min(), 0.1, {0, -1}, of<float, 2>, {"a", ""}, {of<int>}, what};
  auto const list = encode(s);
  auto const again = decode<lists>(list);
  EXPECT_EQ(again.count, s.count);
  EXPECT_EQ(again.fraction, 0.1);
  EXPECT_EQ(again.axes, s.axes);
  EXPECT_EQ(again.of, s.of);
  EXPECT_EQ(again.names, s.names);
  EXPECT_EQ(again.row, s.row);
  EXPECT_EQ(again.what, what);
  EXPECT_EQ(what.use_count(), 4);  // here, in s, in the list, and in what was read from it
}

TEST(attribute, keeps_the_order_of_the_fields) {
  auto const list = encode(sample{.of = {}, .text = {}, .value = {}});
  EXPECT_EQ(list.front().first, "flag");
  EXPECT_EQ(list.back().first, "value");
  EXPECT_TRUE(encode(no_attributes{}).empty());
}

TEST(attribute, names_one_that_is_missing) {
  try {
    decode<sample>({{"flag", true}});
    FAIL();
  } catch (error const& e) {
    EXPECT_EQ(e.code(), code::invalid_argument);
    EXPECT_NE(e.message().find("'small'"), std::string::npos);
  }
}

TEST(attribute, refuses_another_type) {
  EXPECT_THROW(decode<sample>(with("flag", std::int64_t{1})), error);
  EXPECT_THROW(decode<sample>(with("number", std::int64_t{1})), error);
  EXPECT_THROW(decode<sample>(with("text", true)), error);
}

TEST(attribute, refuses_numbers_that_a_field_can_not_hold) {
  EXPECT_THROW(decode<sample>(with("byte", std::int64_t{256})), error);
  EXPECT_THROW(decode<sample>(with("byte", std::int64_t{-1})), error);
  EXPECT_THROW(decode<sample>(with("small", std::int64_t{1} << 40)), error);
  EXPECT_THROW(decode<sample>(with("how", std::int64_t{300})), error);
}

TEST(attribute, is_the_same_as_another_of_the_same_kind_and_value) {
  EXPECT_TRUE(same(attribute(1.5), attribute(1.5)));
  EXPECT_FALSE(same(attribute(1.5), attribute(2.5)));
  EXPECT_FALSE(same(attribute(true), attribute(std::int64_t{1})));
  EXPECT_TRUE(same(attribute(extents{1, 2}), attribute(extents{1, 2})));
  EXPECT_FALSE(same(attribute(std::vector<std::string>{"a"}), attribute(std::vector<std::string>{"b"})));
}

TEST(attribute, compares_tensors_by_bits_and_programs_by_lines) {
  float const nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(same(attribute(tensor(nan)), attribute(tensor(nan))));
  EXPECT_FALSE(same(attribute(tensor(0.f)), attribute(tensor(-0.f))));
  EXPECT_FALSE(same(attribute(tensor(0.f)), attribute(tensor(0.0))));
  program p;
  p.inputs = {dtype::float32};
  auto const a = std::make_shared<program const>(p), b = std::make_shared<program const>(p);
  EXPECT_TRUE(same(attribute(a), attribute(b)));
  p.inputs = {dtype::float64};
  EXPECT_FALSE(same(attribute(a), attribute(std::make_shared<program const>(p))));
}

}  // namespace
}  // namespace rill
