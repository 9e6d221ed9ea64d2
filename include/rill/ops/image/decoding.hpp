// What operations that decode images share: bytes in a string become uint8 [height, width, channels].
#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "rill/device/step.hpp"
#include "rill/dsl/expr.hpp"
#include "rill/io/pixels.hpp"

namespace rill::ops {

struct image_decoding {
  static constexpr std::int8_t arity = 1;
  static constexpr bool dynamic_output_shape = true;
  struct attributes {
    std::int64_t channels = 0;  ///< 0: those of the image
    static constexpr auto fields(auto const& take) { return take(field{"channels", &attributes::channels}); }
  };
  static constexpr type infer(attributes const& a, type const& bytes, checks expects = {}) {
    expects(accepts(type(dtype::string), bytes), "an image is decoded from a scalar string");
    expects(a.channels == 0 || a.channels == 1 || a.channels == 3 || a.channels == 4,
            "an image is decoded to 1, 3 or 4 channels; 0 means the channels of the image");
    return type(dtype::uint8, {unknown, unknown, a.channels == 0 ? unknown : dim(a.channels)});
  }
  using decoder = tensor (*)(std::string_view bytes, int channels, std::uint64_t most,
                             std::function<void()> const& check);
  /// Returns a kernel that calls a decoder, which checks whether the step was stopped.
  static kernel decoding(kernel_request const& r, decoder decode_bytes) {
    auto const channels = static_cast<int>(decode<attributes>(r.at.attributes).channels);
    kernel k([channels, decode_bytes](kernel_call const& call) {
      std::function<void()> check;
      if (call.step.can_end_early()) check = [&step = call.step] { step.check(); };
      call.give(0, decode_bytes(*call.in<std::string>(0), channels, max_image_bytes, check));
    });
    k.allocates_outputs = true;
    return k;
  }
};

}  // namespace rill::ops
