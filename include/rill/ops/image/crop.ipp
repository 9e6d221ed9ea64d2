// Copies parts of images.
#pragma once

#if RILL_DEFINITIONS
#include <cstring>

namespace rill::ops {

/// Copies rows of parts, out of images or into them.
class part_copy {
 public:
  part_copy(type const& images, type const& parts, type const& begin)
      : image_(images), part_(parts), read_(begin, INT64_MAX), element_(images.element) {}

  /// Calls f(image's bytes from the part's row on, part's row, bytes) for all rows, by threads.
  template <class F> void operator()(void const* begin, parallel const& threads, F const& f) const {
    auto const pixel = static_cast<std::size_t>(image_.channels) * size_of(element_);
    if (pixel == 0) return;
    threads(static_cast<std::size_t>(part_.count * part_.height), [&](std::size_t line) {
      auto const i = line / static_cast<std::size_t>(part_.height);
      auto const y = place(read_.at(begin, 2 * i), image_.height - part_.height) +
                     static_cast<std::int64_t>(line % static_cast<std::size_t>(part_.height));
      auto const x = place(read_.at(begin, 2 * i + 1), image_.width - part_.width);
      auto const at = (static_cast<std::int64_t>(i) * image_.height + y) * image_.width + x;
      auto const bytes = static_cast<std::size_t>(part_.width) * pixel;
      f(static_cast<std::size_t>(at) * pixel, line * bytes, bytes);
    });
  }

 private:
  /// Wraps a position round: 0 follows the last one.
  static std::int64_t place(std::int64_t begin, std::int64_t last) {
    auto const at = begin % (last + 1);
    return at < 0 ? at + last + 1 : at;
  }

  image_extents image_, part_;
  index_reader read_;
  dtype element_;
};

inline kernel crop_op::cpu(kernel_request const& r) {
  part_copy const copy(r.inputs[0], r.outputs[0], r.inputs[1]);
  return kernel([copy](kernel_call const& call) {
    copy(call.in(1), call.threads, [&](std::size_t image, std::size_t part, std::size_t bytes) {
      std::memcpy(call.out<std::byte>(0) + part, call.in<std::byte>(0) + image, bytes);
    });
  });
}

inline kernel crop_gradient_op::cpu(kernel_request const& r) {
  part_copy const copy(r.outputs[0], r.inputs[2], r.inputs[1]);
  auto const size = r.outputs[0].bytes();
  return kernel([copy, size](kernel_call const& call) {
    if (size != 0) std::memset(call.out(0), 0, size);
    copy(call.in(1), call.threads, [&](std::size_t image, std::size_t part, std::size_t bytes) {
      std::memcpy(call.out<std::byte>(0) + image, call.in<std::byte>(2) + part, bytes);
    });
  });
}

}  // namespace rill::ops
#endif
