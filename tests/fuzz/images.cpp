// Bytes as a PNG or JPEG image: the channels that are asked for are those of the image, and a PNG file keeps them.
#include "rill/io/image.hpp"

#include "seeded.hpp"

namespace rill::fuzz {

std::vector<std::string> seeds() {
  auto files = files_of_data(".png");
  for (auto& photo : files_of_data(".jpg")) files.push_back(std::move(photo));
  return files;
}

void read(std::string_view bytes) {
  constexpr std::uint64_t most = 1 << 18;
  auto const image = unless_refused([&] { return decode_image(bytes, 0, most); });
  if (!image) return;
  require(same_bits(decode_png(encode_png(*image)), *image), "an image is read as it was written");
  auto const rgb = decode_image(bytes, 3, most * 4), all = decode_image(bytes, 4, most * 4);
  auto const pixels = rgb.elements() / 3, channels = image->elements() / pixels;
  auto const* const given = image->data<std::uint8_t>();
  for (std::int64_t i = 0; i < pixels; ++i) {
    auto const *const three = rgb.data<std::uint8_t>() + i * 3, *const four = all.data<std::uint8_t>() + i * 4;
    require(std::equal(three, three + 3, four), "opacity changes no colour");
    require(channels % 2 == 1 ? four[3] == 255 : four[3] == given[(i + 1) * channels - 1], "opacity is the image's");
    for (std::int64_t c = 0; c < 3; ++c)
      require(three[c] == given[i * channels + (channels >= 3 ? c : 0)], "colours are the image's");
  }
}

}  // namespace rill::fuzz
