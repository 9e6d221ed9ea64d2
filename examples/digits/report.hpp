// Output on the terminal: progress, the confusion matrix, drawn digits.
#pragma once
#include <rill/tensor/tensor.hpp>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "data.hpp"

namespace digits {

/// The progress of an epoch: a bar that is redrawn in a terminal, or one line at the end of the epoch.
class progress {
 public:
  progress(std::int64_t epoch, std::int64_t epochs, std::int64_t steps)
      : epoch_(epoch), epochs_(epochs), steps_(steps) {}

  /// Adds a step of `count` digits.
  void step(float loss, float accuracy, std::int64_t count) {
    loss_ += static_cast<double>(loss) * static_cast<double>(count);
    right_ += static_cast<double>(accuracy) * static_cast<double>(count);
    examples_ += count;
    ++done_;
    auto const now = std::chrono::steady_clock::now();
    if (!terminal_ || now - drawn_ < std::chrono::milliseconds(50)) return;
    drawn_ = now;
    draw();
  }
  void finish() {
    draw();
    std::puts("");
  }

 private:
  void draw() const {
    constexpr std::int64_t width = 30;
    auto const filled = static_cast<std::size_t>(steps_ ? std::min(width, done_ * width / steps_) : width);
    auto const n = static_cast<double>(std::max<std::int64_t>(examples_, 1));
    auto const bar =
        terminal_ ? "[" + std::string(filled, '#') + std::string(width - filled, '.') + "]  " : std::string();
    std::printf("%sepoch %2lld/%lld  %sloss %.4f  accuracy %.4f", terminal_ ? "\r" : "", static_cast<long long>(epoch_),
                static_cast<long long>(epochs_), bar.c_str(), loss_ / n, right_ / n);
    std::fflush(stdout);
  }

  std::int64_t epoch_, epochs_, steps_, done_ = 0, examples_ = 0;
  double loss_ = 0, right_ = 0;
  bool terminal_ = ::isatty(STDOUT_FILENO) == 1;
  std::chrono::steady_clock::time_point drawn_{};
};

/// Prints how often each digit (row) was recognised as each digit (column).
inline void print_confusion(std::vector<std::int32_t> const& predicted, examples const& test) {
  std::array<std::array<int, 10>, 10> table{};
  auto const labels = std::get<1>(test).span<std::int32_t>();
  for (std::size_t i = 0; i < labels.size(); ++i)
    ++table[static_cast<std::size_t>(labels[i])][static_cast<std::size_t>(predicted[i])];
  std::puts(
      "\nDigits (rows) and what they were taken for (columns):\n\n        0    1    2    3    4    5    6    7    8    "
      "9");
  for (std::size_t digit = 0; digit < 10; ++digit) {
    std::printf("  %zu ", digit);
    for (int times : table[digit]) times ? std::printf("%5d", times) : std::printf("    .");
    std::puts("");
  }
}

/// Returns one line of a drawn digit: two characters per pixel, or in large images one character per two pixels of a
/// column.
inline std::string drawn_line(float const* image, std::int64_t side, std::int64_t line) {
  constexpr std::string_view shades = " .:-=+*#%@";
  auto const shade = [&](float p) {  // blank for NaN
    return shades[p > 0 ? static_cast<std::size_t>(std::min(p, 1.f) * 9.f + 0.5f) : 0];
  };
  std::string s;
  for (std::int64_t x = 0; x < side; ++x)
    if (side <= 16) s += std::string(2, shade(image[line * side + x]));
    else s += shade((image[2 * line * side + x] + image[(2 * line + 1) * side + x]) / 2);
  return s;
}

/// Draws a few digits side by side, misrecognised digits first.
inline void print_digits(std::vector<std::int32_t> const& predicted, examples const& test) {
  auto const labels = std::get<1>(test).span<std::int32_t>();
  auto const pixels = std::get<0>(test).span<float>();
  auto const side = std::get<0>(test).shape()[1];
  auto const width = side <= 16 ? 2 * side : side, lines = side <= 16 ? side : side / 2;
  std::vector<std::size_t> shown;
  for (bool const mistaken : {true, false})
    for (std::size_t i = 0; i < labels.size(); ++i)
      if ((predicted[i] != labels[i]) == mistaken) shown.push_back(i);
  auto const across = static_cast<std::size_t>(std::max<std::int64_t>(1, 100 / (width + 3)));
  auto const wrong =
      static_cast<std::size_t>(std::ranges::count_if(shown, [&](std::size_t i) { return predicted[i] != labels[i]; }));
  if (wrong > across / 2 && shown.size() > across)  // show some correct ones too
    std::rotate(shown.begin() + static_cast<std::ptrdiff_t>(across / 2),
                shown.begin() + static_cast<std::ptrdiff_t>(wrong), shown.end());
  shown.resize(std::min(shown.size(), across));
  std::puts("");
  for (std::int64_t line = 0; line < lines; ++line) {
    for (auto i : shown)
      std::printf("  %s ", drawn_line(pixels.data() + static_cast<std::int64_t>(i) * side * side, side, line).c_str());
    std::puts("");
  }
  for (auto i : shown) {
    std::string const says = "taken for " + std::to_string(predicted[i]) +
                             (predicted[i] == labels[i] ? "" : ", is " + std::to_string(labels[i]));
    std::printf("  %-*s ", static_cast<int>(width), says.c_str());
  }
  std::puts("");
}

}  // namespace digits
