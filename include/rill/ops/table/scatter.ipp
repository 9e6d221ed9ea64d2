// Adds rows to a table.
#pragma once

#if RILL_KERNELS
namespace rill::ops {

// Integers wrap.
template <class T> T sum_of(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  else return static_cast<T>(a + b);
}
template <class T> T difference_of(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
  else return static_cast<T>(a - b);
}

// Adds the rows of 16-bit floats at the positions in `order` to one row, as floats.
template <class T>
void add_to_row(T* row, std::size_t width, T const* values, std::int64_t const* order, std::size_t count,
                bool subtract) {
  constexpr std::size_t block = 64;
  float sum[block];
  for (std::size_t first = 0; first < width; first += block) {
    auto const columns = std::min(block, width - first);
    for (std::size_t j = 0; j < columns; ++j) sum[j] = static_cast<float>(row[first + j]);
    for (std::size_t k = 0; k < count; ++k) {
      T const* const v = values + static_cast<std::size_t>(order[k]) * width + first;
      if (subtract)
        for (std::size_t j = 0; j < columns; ++j) sum[j] -= static_cast<float>(v[j]);
      else
        for (std::size_t j = 0; j < columns; ++j) sum[j] += static_cast<float>(v[j]);
    }
    for (std::size_t j = 0; j < columns; ++j) row[first + j] = T(sum[j]);
  }
}

template <class T>
void scatter_like_op::add(void* table, std::size_t rows, std::size_t width, void const* from, std::int64_t const* which,
                          std::size_t count, bool subtract, parallel const& threads) {
  auto* const to = static_cast<T*>(table);
  auto const* const values = static_cast<T const*>(from);
  std::size_t const ranges = rows * width < 32768 ? 1 : rows < 32 ? rows : 32;
  threads(ranges, [&](std::size_t c) {
    auto const first = static_cast<std::int64_t>(c * rows / ranges),
               last = static_cast<std::int64_t>((c + 1) * rows / ranges);
    if constexpr (std::is_same_v<T, half> || std::is_same_v<T, bfloat16>) {
      auto const *at = which + count, *const end = at + count;
      at = std::lower_bound(at, end, first, [which](std::int64_t i, std::int64_t row) { return which[i] < row; });
      while (at != end && which[*at] < last) {
        auto const* next = at;
        while (next != end && which[*next] == which[*at]) ++next;
        add_to_row(to + static_cast<std::size_t>(which[*at]) * width, width, values, at,
                   static_cast<std::size_t>(next - at), subtract);
        at = next;
      }
    } else {
      for (std::size_t i = 0; i < count; ++i) {
        if (which[i] < first || which[i] >= last) continue;
        T* const row = to + static_cast<std::size_t>(which[i]) * width;
        T const* const v = values + i * width;
        if (subtract)
          for (std::size_t j = 0; j < width; ++j) row[j] = difference_of(row[j], v[j]);
        else
          for (std::size_t j = 0; j < width; ++j) row[j] = sum_of(row[j], v[j]);
      }
    }
  });
}

template <dtypes Set> constexpr scatter_like_op::kernels scatter_like_op::make_kernels() {
  kernels k;
  for_each_type<elements & Set>([&]<class T>(std::size_t d) { k.add[d] = add<T>; });
  return k;
}

}  // namespace rill::ops
#endif

#if RILL_DEFINITIONS
namespace rill::ops {

/// Returns a kernel that adds rows, input `which` + 1, to the rows of a table at the indices, input `which`, or
/// subtracts them. It checks the indices, then calls `with_table(call, add)`, which calls add(the table's elements,
/// subtract).
template <class F> kernel scattering(kernel_request const& r, type const& table, std::size_t which, F with_table) {
  index_reader const read(r.inputs[which], table[0].extent);
  auto const element = table.element;
  auto const run = kernels_of<scatter_like_op>(element).add[static_cast<std::size_t>(element)];
  auto const rows = static_cast<std::size_t>(table[0].extent),
             width = static_cast<std::size_t>(elements(row_of(table).shape()));
  return kernel(
      [=](kernel_call const& call) {
        auto* const checked = static_cast<std::int64_t*>(call.scratch());
        read(call.in(which), checked);
        order_rows(element, checked, read.count());
        with_table(call, [&](void* to, bool subtract) {
          run(to, rows, width, call.in(which + 1), checked, read.count(), subtract, call.threads);
        });
      },
      scatter_indices(element, read.count()) * sizeof(std::int64_t));
}

inline kernel scatter_like_op::cpu(kernel_request const& r) {
  return scattering(r, r.outputs[0], 0, [bytes = r.outputs[0].bytes()](kernel_call const& call, auto add) {
    if (bytes != 0) std::memset(call.out(0), 0, bytes);
    add(call.out(0), false);
  });
}

inline kernel add_rows_op::cpu(kernel_request const& r) {
  return scattering(r, r.outputs[0], 1, [bytes = r.outputs[0].bytes()](kernel_call const& call, auto add) {
    if (bytes != 0 && call.in(0) != call.out(0)) std::memcpy(call.out(0), call.in(0), bytes);
    add(call.out(0), false);
  });
}

}  // namespace rill::ops
#endif
