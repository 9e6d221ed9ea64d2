#include "rill/ops/image/flip.hpp"

#include "../run.hpp"

namespace rill {
namespace {

TEST(flip, exchanges_left_and_right_or_top_and_bottom) {
  auto const x = test::counting(dtype::uint8, {2, 2, 2});
  for (auto const& extents : {shape{2, 2, 2}, shape{1, 2, 2, 2}}) {
    auto const sideways = test::run([](auto const& in) { return flip_left_right(in[0]); }, {x.reshaped(extents)});
    EXPECT_EQ(test::to_doubles(sideways), (std::vector<double>{3, 4, 1, 2, 7, 8, 5, 6}));
    auto const over = test::run([](auto const& in) { return flip_up_down(in[0]); }, {x.reshaped(extents)});
    EXPECT_EQ(test::to_doubles(over), (std::vector<double>{5, 6, 7, 8, 1, 2, 3, 4}));
  }
}

TEST(flip, by_chance_turns_half_of_the_images_anew_in_every_step) {
  for (bool known : {true, false})
    for (auto* f :
         {+[](value x) { return random_flip_left_right(x); }, +[](value x) { return random_flip_up_down(x); }}) {
      graph g(5);
      auto const x = placeholder(g, type(dtype::float32, {known ? dim(100) : unknown, 2, 2, 1}));
      auto const y = f(x);
      session s{g};
      tensor in(dtype::float32, {100, 2, 2, 1});
      for (std::int64_t i = 0; i < 400; ++i) in.mutable_data<float>()[i] = i % 4 == 0 || i % 4 == 3 ? 1 : 2;
      int turned = 0;
      std::vector<double> before;
      for (int step = 0; step < 10; ++step) {
        auto const out = s.run({{x, in}}, y);
        for (std::int64_t i = 0; i < 100; ++i) turned += out.at<float>(i, 0, 0, 0) == 2;
        EXPECT_NE(test::to_doubles(out), before);
        before = test::to_doubles(out);
      }
      EXPECT_NEAR(turned, 500, 80);
    }
}

TEST(flip, by_chance_takes_a_single_image_and_keeps_its_type) {
  graph g;
  auto const x = placeholder<std::uint8_t, 2, 2, 3>(g);
  auto const y = random_flip_left_right(x);
  static_assert(std::same_as<decltype(y), decltype(x)>);
  session s{g};
  auto const in = test::counting(dtype::uint8, {2, 2, 3});
  int turned = 0;
  for (int step = 0; step < 100; ++step) turned += !same_bits(s.run({{x, in}}, y), in);
  EXPECT_NEAR(turned, 50, 25);
}

TEST(flip, refuses_what_is_no_image) {
  graph g;
  test::expect_error(code::invalid_argument, "need [height, width, channels]",
                     [&] { random_flip_left_right(placeholder(g, of<float, 2, 2>)); });
  test::expect_error(code::invalid_argument, "out of range for the operand's rank",
                     [&] { flip_up_down(placeholder(g, of<float, 2, 2>)); });
}

}  // namespace
}  // namespace rill
