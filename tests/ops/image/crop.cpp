#include "rill/ops/image/crop.hpp"

#include <map>

#include "../run.hpp"

namespace rill {
namespace {

static_assert(ops::crop_op::infer({2, 3}, of<float, "n", 8, unknown, 3>, of<std::int64_t, "n", 2>) ==
              of<float, "n", 2, 3, 3>);

TEST(crop, takes_a_part_of_each_image_where_values_say) {
  auto const x = test::counting(dtype::int32, {2, 3, 4, 1});
  auto const y =
      test::run([](auto const& in) { return crop(in[0], in[1], 2, 2); }, {x, matrix<std::int64_t>({{0, 1}, {1, 2}})});
  EXPECT_EQ(test::to_doubles(y), (std::vector<double>{2, 3, 6, 7, 19, 20, 23, 24}));
  auto const one = test::run([](auto const& in) { return crop(in[0], in[1], 1, 3); },
                             {x.rows(0, 1).reshaped({3, 4, 1}), vector<std::int32_t>({2, 1})});
  EXPECT_EQ(test::to_doubles(one), (std::vector<double>{10, 11, 12}));
}

TEST(crop, counts_places_round) {
  auto const x = test::counting(dtype::int32, {1, 4, 1});
  for (auto const& [begin, first] :
       {std::pair{0, 1}, {2, 3}, {3, 1}, {-1, 3}, {-4, 3}, {INT32_MAX, 2}, {INT32_MIN, 2}}) {
    auto const y =
        test::run([](auto const& in) { return crop(in[0], in[1], 1, 2); }, {x, vector<std::int32_t>({7, begin})});
    EXPECT_EQ(y.at<std::int32_t>(0, 0, 0), first) << begin;
  }
}

TEST(crop, gives_the_gradient_back_to_its_place) {
  auto const dx = test::run(
      [](auto const& in) { return crop_gradient(in[0], in[1], in[2], {1, 2}); },
      {tensor(dtype::float32, {2, 3, 1}), vector<std::int64_t>({-1, 0}), test::counting(dtype::float32, {1, 2, 1})});
  EXPECT_EQ(test::to_doubles(dx), (std::vector<double>{0, 0, 0, 1, 2, 0}));
}

TEST(crop, by_chance_reaches_every_place_of_every_image_anew_in_every_step) {
  for (bool known : {true, false}) {
    graph g(3);
    auto const x = placeholder(g, type(dtype::int32, {known ? dim(40) : unknown, 3, 4, 1}));
    auto const y = random_crop(x, 2, 3);
    session s{g};
    tensor in(dtype::int32, {40, 3, 4, 1});
    for (std::int64_t i = 0; i < in.elements(); ++i) in.mutable_data<std::int32_t>()[i] = static_cast<int>(i % 12);
    std::map<int, int> seen;
    for (int step = 0; step < 20; ++step) {
      auto const parts = s.run({{x, in}}, y);
      for (std::int64_t i = 0; i < 40; ++i) {
        auto const first = parts.at<std::int32_t>(i, 0, 0, 0);
        EXPECT_EQ(parts.at<std::int32_t>(i, 1, 2, 0), first + 6);
        ++seen[first];
      }
    }
    ASSERT_EQ(seen.size(), 4u);  // 0, 1, 4 and 5, of 800
    for (auto const& [place, times] : seen) EXPECT_NEAR(times, 200, 60) << place;
  }
}

TEST(crop, by_chance_keeps_types_that_the_compiler_knows) {
  graph g;
  auto const one = placeholder<std::uint8_t, 8, 9, 3>(g);
  auto const many = placeholder<float, unknown, 8, 9, 3>(g);
  static_assert(decltype(random_crop<4, 5>(one))::static_type == of<std::uint8_t, 4, 5, 3>);
  static_assert(decltype(random_crop<4, 5>(many))::static_type == of<float, unknown, 4, 5, 3>);
  session s{g};
  EXPECT_EQ(s.run({{one, tensor(dtype::uint8, {8, 9, 3})}}, random_crop<4, 5>(one)).shape(), (shape{4, 5, 3}));
  EXPECT_EQ(s.run({{many, tensor(dtype::float32, {6, 8, 9, 3})}}, random_crop<4, 5>(many)).shape(),
            (shape{6, 4, 5, 3}));
}

TEST(crop, refuses_what_does_not_fit) {
  graph g;
  auto const p = [&](type const& t) { return placeholder(g, t); };
  auto const refuses = [](char const* words, auto f) { test::expect_error(code::invalid_argument, words, f); };
  auto const image = p(of<float, 3, 4, 1>), begin = p(of<std::int64_t, 2>);
  refuses("higher than the image", [&] { crop(image, begin, 4, 4); });
  refuses("wider than the image", [&] { crop(image, begin, 3, 5); });
  refuses("must be positive", [&] { crop(image, begin, 0, 4); });
  refuses("neither int32 nor int64", [&] { crop(image, p(of<float, 2>), 1, 1); });
  refuses("not a row and a column", [&] { crop(image, p(of<std::int64_t, 3>), 1, 1); });
  refuses("not a row and a column", [&] { crop(p(of<float, 2, 3, 4, 1>), begin, 1, 1); });
  refuses("is not [height, width, channels]", [&] { crop(p(of<float, 3, 4>), begin, 1, 1); });
  refuses("not of the extents of a crop", [&] { crop_gradient(image, begin, p(of<float, 1, 2, 1>), {2, 2}); });
}

}  // namespace
}  // namespace rill
