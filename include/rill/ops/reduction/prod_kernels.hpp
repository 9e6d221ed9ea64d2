// The products of all elements but one, and how they change, on raw pointers.
#pragma once
#include "rill/ops/sum/reduce_kernels.hpp"

namespace rill::kernels {

/// The axes of an array in two groups: those that a reduction leaves, and those that it goes over.
struct axis_groups {
  struct axis {
    index extent, stride;
  };
  /// Axes from the outermost to the innermost.
  struct group {
    axis axes[8] = {};
    int count = 0;
    constexpr void push_back(axis a) { axes[count++] = a; }
    constexpr index elements() const {
      index n = 1;
      for (int i = 0; i < count; ++i) n *= axes[i].extent;
      return n;
    }
    /// Returns where element i of the group lies.
    constexpr index offset(index i) const {
      index at = 0;
      for (int k = count; k-- > 1; i /= axes[k].extent) at += i % axes[k].extent * axes[k].stride;
      return count > 0 ? at + i * axes[0].stride : at;
    }
  };
  group kept, reduced;
};

namespace detail {

// A product in which each factor x is x + t1 e1 + t2 e2 + …, where each ei squared is 0: bit i of a term's number says
// whether ei is in it. The last term is how the product of the x changes if they change by t1, t2, … at once.
template <class V> struct varied_product {
  V terms[16];

  explicit varied_product(int) : terms{V(1)} {}
  void multiply(V x, V const* t, int directions) {
    for (int m = (1 << directions) - 1; m >= 0; --m) {
      V sum = terms[m] * x;
      for (int b = 0; b < directions; ++b)
        if (m >> b & 1) sum += terms[m & ~(1 << b)] * t[b];
      terms[m] = sum;
    }
  }
};

}  // namespace detail

/// The most directions of prod_of_others.
inline constexpr int most_directions = 4;

/// Returns the number of elements of scratch, of the type in which products are computed.
inline std::size_t prod_of_others_scratch(axis_groups const& s, int directions) noexcept {
  return static_cast<std::size_t>(s.kept.elements() * s.reduced.elements()) << directions;
}

/// Computes for each element the product of the others over the reduced axes; with directions t1, t2, … (arrays like x)
/// how that changes along all of them at once. From the products of those before and those behind, so that zeros do no
/// harm.
template <class T>
void prod_of_others(axis_groups const& s, int directions, T const* x, T const* const* t, T* to, void* scratch,
                    parallel const& threads) noexcept {
  using V = std::conditional_t<(sizeof(T) < 4), float, T>;
  index const count = s.reduced.elements(), terms = index{1} << directions, last = terms - 1;
  share(threads, s.kept.elements(), detail::divide_up(1 << 12, detail::upper(1, count * terms)),
        [&](index begin, index end) {
          for (index unit = begin; unit < end; ++unit) {
            index const base = s.kept.offset(unit);
            V* const before = static_cast<V*>(scratch) + unit * count * terms;
            V along[most_directions];
            auto const multiply = [&](detail::varied_product<V>& product, index at) {
              for (int b = 0; b < directions; ++b) along[b] = static_cast<V>(t[b][at]);
              product.multiply(static_cast<V>(x[at]), along, directions);
            };
            detail::varied_product<V> product(0);
            for (index i = 0; i < count; ++i) {
              for (index m = 0; m < terms; ++m) before[i * terms + m] = product.terms[m];
              multiply(product, base + s.reduced.offset(i));
            }
            detail::varied_product<V> behind(0);
            for (index i = count; i-- > 0;) {
              V sum{};
              for (index m = 0; m < terms; ++m) sum += before[i * terms + m] * behind.terms[last ^ m];
              index const at = base + s.reduced.offset(i);
              to[at] = static_cast<T>(sum);
              multiply(behind, at);
            }
          }
        });
}

}  // namespace rill::kernels
