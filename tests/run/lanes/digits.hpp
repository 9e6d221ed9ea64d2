// Small numbers of both signs, for programs whose results only have to be the same.
#pragma once
#include <cstdint>
#include <vector>

#include "rill/tensor/tensor.hpp"

namespace rill::test {

inline tensor digits(std::int64_t rows, std::int64_t columns) {
  std::vector<float> v;
  for (std::int64_t i = 0; i < rows * columns; ++i) v.push_back(static_cast<float>((i * 7) % 11) / 8 - 0.5f);
  return tensor::copy<float>(v, shape{rows, columns});
}

}  // namespace rill::test
