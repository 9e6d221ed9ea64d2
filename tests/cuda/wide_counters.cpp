// Kernels whose counters have 64 bits give on small arrays what those with 32 bits give.
#include <cstdint>
#include <string>
#include <vector>

#include "on_stream.hpp"
#include "rill/cuda/copy_kernel.hpp"
#include "rill/cuda/gather_kernel.hpp"
#include "rill/cuda/index_check.hpp"
#include "rill/cuda/launch.hpp"
#include "rill/cuda/map_text.hpp"
#include "rill/cuda/text/tile_form.hpp"

namespace rill {
namespace {

using numbers = std::vector<std::uint32_t>;

template <class Count> constexpr bool wide = sizeof(Count) == 8;

struct counters : test::on_stream {
  // Returns what a kernel writes to `n` numbers, which are 0 before, of `x`; `arguments` are for behind both arrays.
  template <class... A>
  numbers written(std::string const& text, char const* kernel, gpu_device::launch_shape how, numbers const& x,
                  std::size_t n, A... arguments) {
    auto const from = memory_there(x.size() * 4), to = memory_there(n * 4);
    write(from, from.storage().data(), x);
    write(to, to.storage().data(), numbers(n));
    auto const f = on->find(text, kernel);
    run([&] { cuda::launch(*on, *f, how, from.storage().data(), to.storage().data(), arguments...); });
    return read<std::uint32_t>(to, to.storage().data(), n);
  }
  static numbers ascending(std::uint32_t n) {
    numbers all(n);
    for (std::uint32_t i = 0; i < n; ++i) all[i] = i * 7 + 1;
    return all;
  }
  static numbers transposed(numbers const& x, std::size_t columns) {
    numbers y(x.size());
    auto const rows = x.size() / columns;
    for (std::size_t i = 0; i < x.size(); ++i) y[i % columns * rows + i / columns] = x[i];
    return y;
  }

  template <class Count> numbers copied(numbers const& x, Count rows, Count columns) {
    struct {
      Count starts[2], extents[2], from[2], to[2];
    } const part{{0, 0}, {columns, rows}, {1, columns}, {rows, 1}};
    return written(cuda::copy_text(4, 2, wide<Count>), "copy", on->shape_for(x.size()), x, x.size(),
                   static_cast<Count>(x.size()), part);
  }
  template <class Count> numbers copied_in_tiles(numbers const& x, Count rows, Count columns) {
    struct {
      Count starts[2], rows, columns, from_row, to_column, extents[1], from[1], to[1];
    } const part{{0, 0}, rows, columns, columns, rows, {1}, {0}, {0}};
    auto const tiles = static_cast<Count>((rows + 31) / 32 * ((columns + 31) / 32));
    return written(cuda::tiles_text(4, 1, wide<Count>), "copy_in_tiles", {2, cuda::tile_threads}, x, x.size(), tiles,
                   part);
  }
  template <class Count> numbers taken(numbers const& table, std::vector<std::int32_t> const& which, bool own) {
    auto const memory = memory_there(which.size() * 4), check = memory_there(cuda::bytes_for_checks);
    write(memory, memory.storage().data(), which);
    auto const from = memory_there(table.size() * 4);
    write(from, from.storage().data(), table);
    auto const n = own ? which.size() : which.size() * 3;
    auto const to = memory_there(n * 4);
    auto const f = on->find(cuda::take_text(4, dtype::int32, own, wide<Count>), "take");
    run([&] {
      cuda::launch(*on, *f, on->shape_for(n), from.storage().data(), memory.storage().data(), to.storage().data(),
                   static_cast<Count>(n), static_cast<Count>(own ? which.size() / 3 : which.size()),
                   static_cast<Count>(table.size() / 3), Count{3}, check.storage().data());
    });
    return read<std::uint32_t>(to, to.storage().data(), n);
  }
  // Adds a column of 3 numbers, and each of x, [3, n].
  template <class Count> numbers mapped(numbers const& x, Count n) {
    program p;
    p.inputs = {dtype::uint32, dtype::uint32};
    p.instructions.push_back({definition<ops::add_op>().elementwise, {0, 1}, dtype::uint32});
    p.outputs = {2};
    auto const axes = collapse(std::vector<shape>{{3, 1}, {3, n}}, {3, static_cast<std::int64_t>(n)});
    auto const column = memory_there(12);
    write(column, column.storage().data(), numbers{100, 200, 300});
    auto const from = memory_there(x.size() * 4), to = memory_there(x.size() * 4);
    write(from, from.storage().data(), x);
    auto const f = on->find(cuda::map_text(p, axes, wide<Count>), "map");
    run([&] {
      cuda::launch(*on, *f, on->shape_for(x.size()), column.storage().data(), from.storage().data(),
                   to.storage().data(), n, Count{1}, Count{0}, static_cast<Count>(x.size()));
    });
    return read<std::uint32_t>(to, to.storage().data(), x.size());
  }
};

TEST_F(counters, of_both_widths_copy_alike) {
  auto const x = ascending(45 * 70);
  auto const expected = transposed(x, 70);
  EXPECT_EQ(copied<std::uint32_t>(x, 45, 70), expected);
  EXPECT_EQ(copied<std::uint64_t>(x, 45, 70), expected);
  EXPECT_EQ(copied_in_tiles<std::uint32_t>(x, 45, 70), expected);
  EXPECT_EQ(copied_in_tiles<std::uint64_t>(x, 45, 70), expected);
}
TEST_F(counters, of_both_widths_gather_alike) {
  auto const table = ascending(5 * 3);
  std::vector<std::int32_t> const which{4, 0, 3, 3, 1, 2};
  numbers rows, own;
  for (auto const i : which)
    for (std::size_t k = 0; k < 3; ++k) rows.push_back(table[static_cast<std::size_t>(i) * 3 + k]);
  for (std::size_t k = 0; k < which.size(); ++k) own.push_back(table[static_cast<std::size_t>(which[k]) * 3 + k % 3]);
  EXPECT_EQ(taken<std::uint32_t>(table, which, false), rows);
  EXPECT_EQ(taken<std::uint64_t>(table, which, false), rows);
  EXPECT_EQ(taken<std::uint32_t>(table, which, true), own);
  EXPECT_EQ(taken<std::uint64_t>(table, which, true), own);
}
TEST_F(counters, of_both_widths_compute_alike) {
  auto const x = ascending(3 * 400);
  auto expected = x;
  for (std::uint32_t i = 0; i < expected.size(); ++i) expected[i] += 100 * (i / 400 + 1);
  EXPECT_EQ(mapped<std::uint32_t>(x, 400), expected);
  EXPECT_EQ(mapped<std::uint64_t>(x, 400), expected);
}

}  // namespace
}  // namespace rill
