#include "rill/io/image.hpp"

#include <gtest/gtest.h>

#include "scratch.hpp"

namespace rill {
namespace {

TEST(image, is_of_the_kind_that_its_first_bytes_say) {
  for (int channels : {0, 1, 3, 4}) {
    auto const png = read_file(data_file("rgb.png")), jpeg = read_file(data_file("rgb.jpg"));
    EXPECT_TRUE(same_bits(decode_image(png, channels), decode_png(png, channels)));
    EXPECT_TRUE(same_bits(decode_image(jpeg, channels), decode_jpeg(jpeg, channels)));
    EXPECT_TRUE(same_bits(read_image(data_file("rgb.jpg"), channels), decode_jpeg(jpeg, channels)));
  }
  EXPECT_EQ(refusal([] { decode_image("GIF89a"); }), code::invalid_argument);
  EXPECT_EQ(refusal([] { decode_image(""); }), code::invalid_argument);
}

TEST(image, in_a_file_is_refused_by_the_files_name) {
  scratch dir;
  write_file(dir / "a.png", read_file(data_file("rgb.png")).substr(0, 50));
  try {
    read_image(dir / "a.png");
    FAIL();
  } catch (error const& e) {
    EXPECT_EQ(e.code(), code::data_loss);
    EXPECT_NE(e.message().find("a.png': a PNG image is damaged"), std::string::npos);
  }
}

}  // namespace
}  // namespace rill
