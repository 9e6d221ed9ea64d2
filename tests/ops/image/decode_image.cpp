#include "rill/ops/image/decode_image.hpp"

#include <gtest/gtest.h>

#include "../run.hpp"
#include "io/scratch.hpp"
#include "rill/io.hpp"
#include "rill/ops/image/decode_jpeg.hpp"
#include "rill/ops/image/decode_png.hpp"
#include "rill/ops/image/resize.hpp"
#include "rill/rill.hpp"

namespace rill {
namespace {

using test::expect_error;

std::string bytes_of(char const* name) { return read_file(data_file(name)); }

TEST(decode_image, gives_the_pixels_that_the_readers_give) {
  graph g;
  auto const bytes = placeholder<std::string>(g, "bytes");
  auto const any = decode_image(bytes);
  static_assert(std::same_as<decltype(any), expr<of<std::uint8_t, unknown, unknown, unknown>> const>);
  auto const grey = decode_image<1>(bytes);
  static_assert(std::same_as<decltype(grey), expr<of<std::uint8_t, unknown, unknown, 1>> const>);
  auto const png = decode_png<3>(bytes), jpeg = decode_jpeg<3>(bytes);
  session s(g);
  for (char const* name : {"rgb.png", "grey.png", "grey.jpg"}) {
    auto const file = bytes_of(name);
    auto const [a, b] = s.run({{bytes, tensor(file)}}, any, grey);
    EXPECT_TRUE(same_bits(a, decode_image(std::string_view(file)))) << name;
    EXPECT_TRUE(same_bits(b, decode_image(std::string_view(file), 1))) << name;
  }
  auto const rgb = bytes_of("rgb.png"), photo = bytes_of("grey.jpg");
  EXPECT_TRUE(same_bits(s.run({{bytes, tensor(rgb)}}, png), decode_png(std::string_view(rgb), 3)));
  EXPECT_TRUE(same_bits(s.run({{bytes, tensor(photo)}}, jpeg), decode_jpeg(std::string_view(photo), 3)));
}

TEST(decode_image, is_followed_by_others_and_comes_as_batches) {
  graph g;
  auto const reader = whole_files_reader(g, {data_file("rgb.png").string(), data_file("grey.png").string()});
  auto const pixels = resize_nearest<4, 4>(decode_image<3>(reader.next()));
  auto const images = batch<2>(pixels);
  static_assert(std::same_as<decltype(images), expr<of<std::uint8_t, 2, 4, 4, 3>> const>);
  session s(g);
  s.run(initializer(g));
  start_input(s);
  EXPECT_EQ(s.run(images).at<std::uint8_t>(0, 0, 0, 1), 13);
}

TEST(decode_image, ends_with_its_step_whose_time_is_over) {
  graph g;
  auto const bytes = placeholder<std::string>(g, "bytes");
  auto const any = decode_image(bytes);
  session s(g);
  s.run({{bytes, tensor(bytes_of("rgb.png"))}}, any);  // the step is planned
  // No machine decodes it in a millisecond.
  std::vector<feed> const large{{bytes, tensor(encode_png(tensor(dtype::uint8, {4000, 4000, 1})))}};
  expect_error(code::deadline_exceeded, "past its deadline",
               [&] { s.run(large, any, timeout(std::chrono::milliseconds(1))); });
}

TEST(decode_image, names_the_node_where_bytes_are_no_image) {
  graph g;
  auto const bytes = placeholder<std::string>(g, "bytes");
  auto const any = decode_image(bytes);
  auto const png = decode_png(bytes), jpeg = decode_jpeg(bytes);
  session s(g);
  std::vector<feed> const text{{bytes, tensor(std::string("no image"))}};
  expect_error(code::invalid_argument, "neither a PNG nor a JPEG", [&] { s.run(text, any); });
  EXPECT_THROW(s.run(text, png), error);
  EXPECT_THROW(s.run(text, jpeg), error);
  auto const whole = bytes_of("rgb.png");
  for (std::size_t n = 0; n + 12 < whole.size(); n += 3)
    EXPECT_THROW(s.run({{bytes, tensor(whole.substr(0, n))}}, any), error) << n;
  expect_error(code::invalid_argument, "1, 3 or 4 channels", [&] { decode_image<2>(value(bytes)); });
  expect_error(code::invalid_argument, "scalar string", [&] { decode_png(value(constant(g, 1.f))); });
}

}  // namespace
}  // namespace rill
