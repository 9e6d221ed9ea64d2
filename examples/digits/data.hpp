// Images of digits with their labels, split into training and test examples.
#pragma once
#include <rill/io/csv.hpp>
#include <rill/io/idx.hpp>
#include <rill/train/batches.hpp>

#include <algorithm>
#include <filesystem>
#include <tuple>

#include "../source_folder.hpp"

namespace digits {

/// Images [n, side, side, 1] with pixels from 0 to 1, and labels [n] from 0 to 9.
using examples = std::tuple<rill::tensor, rill::tensor>;

struct split {
  examples training, test;
  std::int64_t side() const { return std::get<0>(training).shape()[1]; }
};

inline std::int64_t count(examples const& e) { return std::get<1>(e).elements(); }

/// Returns the path of the digits that come with rill.
inline std::filesystem::path digits_csv() { return rill::source_folder() / "examples/data/digits.csv"; }

/// Converts numbers of any type to float and divides them by `by`.
inline rill::tensor scaled(rill::tensor const& from, float by) {
  rill::tensor to(rill::dtype::float32, from.shape());
  rill::visit(from.element(), [&]<class T>() {
    if constexpr (std::is_arithmetic_v<T>)
      std::ranges::transform(from.span<T>(), to.mutable_data<float>(), [&](T x) { return static_cast<float>(x) / by; });
    else
      throw rill::error(rill::code::invalid_argument,
                        "expected numbers as pixels and labels, got " + from.type().text());
  });
  return to;
}

/// Shuffles with a fixed seed and splits off `tests` examples for the test.
inline split cut(examples all, std::int64_t tests) {
  auto const n = count(all);
  for (auto label : std::get<1>(all).span<std::int32_t>())
    if (label < 0 || label > 9)
      throw rill::error(rill::code::invalid_argument, "expected labels from 0 to 9, got " + std::to_string(label));
  if (n <= tests)
    throw rill::error(rill::code::invalid_argument,
                      "expected more than " + std::to_string(tests) + " digits, got " + std::to_string(n));
  auto shuffled = rill::batches(all, n, rill::epochs(1), {.seed = 2026});
  auto const [images, labels] = *shuffled.begin();
  return {{images.rows(tests, n), labels.rows(tests, n)}, {images.rows(0, tests), labels.rows(0, tests)}};
}

/// Reads lines of 64 pixels from 0 to 16 and a label. A fifth is for the test, 360 of 1,797.
inline split read_csv(std::filesystem::path const& path) {
  auto const [pixels, labels] = rill::read_csv<rill::of<float, 64>, rill::of<std::int32_t>>(path);
  auto const n = pixels.shape()[0];
  return cut({scaled(pixels, 16).reshaped({n, 8, 8, 1}), labels}, (n + 4) / 5);
}

/// Reads files in MNIST's format. A fifth is for the test.
inline split read_idx(std::filesystem::path const& images, std::filesystem::path const& labels) {
  auto const pixels = rill::read_idx(images), digit = rill::read_idx(labels);
  if (pixels.rank() != 3 || digit.rank() != 1 || pixels.shape()[0] != digit.shape()[0])
    throw rill::error(rill::code::invalid_argument, "expected images [n, height, width] and labels [n]; '" +
                                                        images.string() + "' holds " + pixels.type().text() + " and '" +
                                                        labels.string() + "' holds " + digit.type().text());
  auto const n = pixels.shape()[0], side = pixels.shape()[1];
  if (side != pixels.shape()[2] || (side != 8 && side != 28))
    throw rill::error(rill::code::invalid_argument, "'" + images.string() + "' holds images of " +
                                                        std::to_string(side) + "x" + std::to_string(pixels.shape()[2]) +
                                                        " pixels; expected 8x8 or 28x28");
  rill::tensor label(rill::dtype::int32, {n});
  auto const numbers = scaled(digit, 1);
  std::ranges::transform(numbers.span<float>(), label.mutable_data<std::int32_t>(),
                         [](float x) { return static_cast<std::int32_t>(x); });
  return cut({scaled(pixels, 255).reshaped({n, side, side, 1}), label}, (n + 4) / 5);
}

}  // namespace digits
