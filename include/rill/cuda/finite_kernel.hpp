// check_numerics as a kernel of a GPU.
#pragma once
#include <cstddef>
#include <string>

#include "rill/graph/kernel_request.hpp"

namespace rill::cuda {

/// Returns the text of a kernel `check`, which copies floats of `bytes` bytes as integers, and finds the first one that
/// is infinite or NaN.
std::string finite_text(std::size_t bytes);

/// Returns the kernel of check_numerics, of floats and complex numbers. It waits until the numbers are checked: one
/// that is not finite is an error.
kernel check_numerics_kernel(kernel_request const& r);

}  // namespace rill::cuda

#if RILL_CUDA_RUNTIME
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

#include "rill/cuda/index_check.hpp"
#include "rill/cuda/launch.hpp"
#include "rill/cuda/text_parts.hpp"
#include "rill/graph/op_def.hpp"
#include "rill/ops/check/check_numerics.hpp"

namespace rill::cuda {

namespace detail {

/// Numbers as words, and the bits of a word that are all set in one that is not finite.
struct float_words {
  std::size_t bytes, parts;  // parts: of a number
  std::uint64_t exponent;
};
inline float_words words_of(dtype element) {
  switch (element) {
    case dtype::float16:
      return {2, 1, 0x7c00};
    case dtype::bfloat16:
      return {2, 1, 0x7f80};
    case dtype::float32:
      return {4, 1, 0x7f80'0000};
    case dtype::complex64:
      return {4, 2, 0x7f80'0000};
    case dtype::float64:
      return {8, 1, 0x7ff0'0000'0000'0000};
    case dtype::complex128:
      return {8, 2, 0x7ff0'0000'0000'0000};
    default:
      throw error(code::internal, "check_numerics checks floats and complex numbers");
  }
}

/// The check of an array of floats.
class finite_check {
 public:
  finite_check(gpu_device const& on, dtype element, std::int64_t n, std::string message)
      : on_(on),
        words_(words_of(element)),
        n_(n),
        message_(std::move(message)),
        first_(on),
        run_(on.find(finite_text(words_.bytes), "check")) {}

  void operator()(kernel_call const& call) const {
    if (n_ == 0) return;
    auto const part = static_cast<std::int64_t>(words_.parts), count = n_ * part;
    first_.begin(call.scratch());
    launch(on_, *run_, on_.shape_for(static_cast<std::size_t>(count)), call.in(0), call.out(0), count, words_.exponent,
           call.scratch());
    if (auto const word = first_.find(call.scratch()))
      throw error(code::invalid_argument, (message_.empty() ? "the value" : message_) + " has " +
                                              (is_nan(call.out(0), *word / part) ? "a NaN" : "an infinity") +
                                              ", first at element " + std::to_string(*word / part) + " of " +
                                              std::to_string(n_));
  }

 private:
  // A number is NaN if one of its words is.
  bool is_nan(void const* numbers, std::int64_t i) const {
    auto const bytes = words_.bytes * words_.parts;
    std::array<std::byte, 16> number{};
    on_.read(number.data(), static_cast<std::byte const*>(numbers) + static_cast<std::size_t>(i) * bytes, bytes);
    auto const magnitude = (std::uint64_t{1} << (8 * words_.bytes - 1)) - 1;
    for (std::size_t p = 0; p < words_.parts; ++p) {
      std::uint64_t word = 0;  // its first bytes are the lower ones
      std::memcpy(&word, number.data() + p * words_.bytes, words_.bytes);
      if ((word & magnitude) > words_.exponent) return true;
    }
    return false;
  }

  gpu_device const& on_;
  float_words words_;
  std::int64_t n_;
  std::string message_;
  first_bad first_;
  std::shared_ptr<gpu_device::function const> run_;
};

}  // namespace detail

RILL_CUDA_INLINE std::string finite_text(std::size_t bytes) {
  auto const word = word_in_text(bytes);
  return text_head_with_cstdint("finite.cuh") +
         kernel_in_text("check(global<" + word + " const> from, global<" + word +
                            "> to, long n, std::uint64_t exponent, global<bad_position> first)",
                        "copy_finite(from, to, n, static_cast<" + word + ">(exponent), first);");
}

RILL_CUDA_INLINE kernel check_numerics_kernel(kernel_request const& r) {
  auto const& x = r.inputs[0];
  detail::finite_check check(static_cast<gpu_device const&>(*r.on), x.element, elements(x.shape()),
                             decode<ops::check_numerics_op::attributes>(r.at.attributes).message);
  kernel k([check = std::move(check)](kernel_call const& call) { check(call); }, first_bad::scratch);
  k.input_output_aliases = {{0, 0}};
  return k;
}

}  // namespace rill::cuda
#endif
