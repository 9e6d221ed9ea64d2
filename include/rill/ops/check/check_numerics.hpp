// A step ends where a number is not finite.
#pragma once
#include "rill/dsl/expr.hpp"
#include "rill/ops/base/for_each_type.hpp"
#include "rill/ops/base/kernels.hpp"

#if RILL_KERNELS
#include <algorithm>
#include <atomic>
#endif
#if RILL_DEFINITIONS
#include "rill/tensor/elements.hpp"
#endif

namespace rill::ops {

struct check_numerics_op {
  using library = void;
  static constexpr std::string_view name = "check_numerics",
                                    doc = "x; an error that says where, if an element is NaN or infinite";
  static constexpr std::int8_t arity = 1;
  static constexpr dtypes elements = dtypes::floats | dtypes::complexes;
  struct attributes {
    std::string message;
    static constexpr auto fields(auto const& take) { return take(field{"message", &attributes::message}); }
  };
  /// The index of the first element that is not finite, or n.
  struct kernels {
    std::array<std::size_t (*)(void const* x, std::size_t n, parallel const&), dtype_count> find{};
  };
  template <class Any>  // clang 19 can't make attributes with a string in a constant expression
  static constexpr type infer(Any const&, type const& x, checks expects = {}) {
    expects(elements.contains(x.element), "check_numerics: only floats and complex numbers can be other than finite");
    return x;
  }
  template <class V> static std::vector<gradient> grad(gradient_request const& r) {
    return {check_numerics(V(r.dy()), decode<attributes>(r.origin().attributes).message + " (its gradient)")};
  }
#if RILL_KERNELS
  static constexpr std::size_t block = 256;
  // Whether any word of a block has all bits of the exponent: without branches, so that the loop is made of vectors.
  template <class Word, Word Exponent> static bool any_in(Word const* at) {
    Word any = 0;
    for (std::size_t i = 0; i < block; ++i) any = static_cast<Word>(any | ((at[i] & Exponent) == Exponent ? 1 : 0));
    return any != 0;
  }
  static void lower(std::atomic<std::size_t>& first, std::size_t to) {
    auto before = first.load();
    while (to < before && !first.compare_exchange_weak(before, to)) {
    }
  }
  template <class Word, Word Exponent, std::size_t Parts = 1>
  static std::size_t find(void const* x, std::size_t n, parallel const& threads) {
    constexpr std::size_t chunk = 32768;
    std::atomic<std::size_t> first = n;
    threads((n + chunk - 1) / chunk, [&](std::size_t c) {
      auto const* const at = static_cast<Word const*>(x);
      auto const end = std::min(n, (c + 1) * chunk) * Parts;
      for (std::size_t i = c * chunk * Parts; i < end; i += block) {
        if (i + block <= end && !any_in<Word, Exponent>(at + i)) continue;
        for (std::size_t k = i; k < std::min(end, i + block); ++k)
          if ((at[k] & Exponent) == Exponent) return lower(first, k / Parts);
      }
    });
    return first;
  }
  static constexpr kernels make_kernels() {
    kernels k;
    auto const at = [&](dtype d) -> auto& { return k.find[static_cast<std::size_t>(d)]; };
    at(dtype::float16) = find<std::uint16_t, 0x7c00>;
    at(dtype::bfloat16) = find<std::uint16_t, 0x7f80>;
    at(dtype::float32) = find<std::uint32_t, 0x7f800000>;
    at(dtype::float64) = find<std::uint64_t, 0x7ff0000000000000>;
    at(dtype::complex64) = find<std::uint32_t, 0x7f800000, 2>;
    at(dtype::complex128) = find<std::uint64_t, 0x7ff0000000000000, 2>;
    return k;
  }
#endif
#if RILL_DEFINITIONS
  static bool is_nan(dtype d, void const* x, std::size_t i) {
    return visit(d, [&]<class T>() {
      if constexpr (std::same_as<T, std::string> || std::integral<T>) return false;
      else {
        T const v = static_cast<T const*>(x)[i];
        return v != v;
      }
    });
  }
  static kernel cpu(kernel_request const& r) {
    auto const d = r.inputs[0].element;
    auto const find_first = kernels_of<check_numerics_op>().find[static_cast<std::size_t>(d)];
    auto const n = static_cast<std::size_t>(rill::elements(r.inputs[0].shape()));
    kernel k([=, message = decode<attributes>(r.at.attributes).message](kernel_call const& call) {
      if (auto const i = find_first(call.in(0), n, call.threads); i != n)
        throw error(code::invalid_argument, (message.empty() ? "the value" : message) + " has " +
                                                (is_nan(d, call.in(0), i) ? "a NaN" : "an infinity") +
                                                ", first at element " + std::to_string(i) + " of " + std::to_string(n));
      if (call.in(0) != call.out(0)) copy_elements(d, call.out(0), call.in(0), n);
    });
    k.input_output_aliases = {{0, 0}};
    return k;
  }
#endif
};

}  // namespace rill::ops

namespace rill {

/// x; error(invalid_argument) that begins with the message and says where, if an element is NaN or infinite. Its
/// gradient is checked too.
template <operand X> X check_numerics(X x, std::string_view message = {}) {
  if constexpr (typed<X>) detail::result_types<ops::check_numerics_op, no_attributes{}, X>();
  return X{record_erased<ops::check_numerics_op>(detail::graph_of(x), {std::string(message)}, {x})};
}

}  // namespace rill
