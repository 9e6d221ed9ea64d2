// The raw kernels of a header-only program: all that its operations need for common element types, and for other types
// those that typed handles name or `use_elements` asks for. rill::compiled has them all.
#pragma once
#include <atomic>

#include "rill/base/config.hpp"
#include "rill/type/type.hpp"

namespace rill {

/// The element types for which a header-only program has the kernels of all operations that it uses, whether typed
/// handles, erased handles or gradient rules record them.
inline constexpr dtypes common_elements =
    dtypes{dtype::boolean} | dtype::int32 | dtype::int64 | dtype::float32 | dtype::float64;
/// The same for operations whose kernels take long to compile.
inline constexpr dtypes common_floats = dtypes{dtype::float32} | dtype::float64;

namespace detail {

/// Returns the common element types of an operation, which declares fewer if its kernels take long to compile.
template <class Op> constexpr dtypes common_elements_of() {
  if constexpr (requires { Op::common; }) return Op::common;
  else return common_elements;
}

constexpr dtypes elements_in(type const& t) { return t.element; }
template <class Types> constexpr dtypes elements_in(Types const& types) {
  dtypes set;
  for (type const& t : types) set = set | t.element;
  return set;
}

/// An operation whose kernels are instantiated for a set of element types: `Op::make_kernels<Set>()`.
template <class Op>
concept kernels_by_element = requires { Op::template make_kernels<common_elements>(); };

/// Returns the kernels of an operation for a set of element types; for all types if the operation doesn't distinguish
/// them.
template <class Op, dtypes Set> constexpr auto make_kernels() {
  if constexpr (kernels_by_element<Op>) return Op::template make_kernels<Set>();
  else return Op::make_kernels();
}
template <class Op, dtypes Set> inline constexpr auto kernels_made = make_kernels<Op, Set>();

/// One of an operation's tables of kernels, for a set of element types. It is never removed from the list.
struct kernel_part {
  dtypes elements;
  void const* kernels;
  kernel_part const* next = nullptr;
};

/// The list of an operation's tables in this program, the latest first.
template <class Op> struct kernel_parts {
  static inline constinit kernel_part const common{common_elements_of<Op>(),
                                                   &kernels_made<Op, common_elements_of<Op>()>};
  static inline constinit std::atomic<kernel_part const*> first = &common;

  static bool add(kernel_part& part) {
    part.next = first.load(std::memory_order_relaxed);
    while (!first.compare_exchange_weak(part.next, &part, std::memory_order_release, std::memory_order_relaxed)) {
    }
    return true;
  }
  /// Returns a table that has all of these element types; null if there is none.
  static void const* find(dtypes wanted) {
    for (auto const* p = first.load(std::memory_order_acquire); p != nullptr; p = p->next)
      if (p->elements.includes(wanted)) return p->kernels;
    return nullptr;
  }
};

/// Adds the operation's kernels for these element types, and for conversions between them, to a header-only program.
template <class Op, dtypes Set> void provide_kernels() {
#if RILL_KERNELS
  if constexpr (kernels_by_element<Op> && !common_elements_of<Op>().includes(Set & dtypes::numeric_or_bool)) {
    static kernel_part part{Set, &kernels_made<Op, Set>};
    [[maybe_unused]] static bool const added = kernel_parts<Op>::add(part);
  }
#endif
}

}  // namespace detail
}  // namespace rill
