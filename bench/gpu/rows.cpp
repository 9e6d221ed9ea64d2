// Compares reductions bit by bit: sums over rows and columns, and softmax, by a GPU in the order of the processor's
// kernels, which depends on the extents alone. Prints a table, a line for each case.
#include <cinttypes>
#include <string>
#include <vector>

#include "compare.hpp"
#include "cuda.hpp"
#include "functions.hpp"
#include "rill/ops/network/softmax_kernels.hpp"
#include "rill/ops/sum/reduce_kernels.hpp"

namespace {

using namespace bench;
using rill::kernels::index;
using rill::kernels::reduce_shape;

/// n numbers of either sign and of sizes from 2^-8 to 2^8 times `scale`, whose sums round.
template <class T> std::vector<T> numbers(std::size_t n, float scale = 1) {
  std::vector<T> x(n);
  for (std::size_t i = 0; i < n; ++i) x[i] = static_cast<T>(inputs::near_pairs::operand(i, 0) * scale);
  return x;
}

template <class T> std::string type_name() {
  return std::is_same_v<T, float> ? "float" : std::is_same_v<T, double> ? "double" : "rill::half";
}

class reductions {
 public:
  std::string summary() const { return gpu_.summary(); }

  /// Sums [outer, middle, inner] over the middle.
  template <class T> void sum(index outer, index middle, index inner) {
    using V = rill::kernels::sum_type<T>;
    reduce_shape const shape{outer, middle, inner};
    auto const x = numbers<T>(static_cast<std::size_t>(outer * middle * inner));
    std::vector<T> y(static_cast<std::size_t>(outer * inner));
    std::vector<std::byte> scratch(rill::kernels::reduce_scratch_bytes<T>(shape));
    rill::kernels::reduce_sum<T>(shape, x.data(), y.data(), scratch.data(), {});

    std::string const t = type_name<T>(), v = type_name<V>();
    std::string const way = inner == 1 ? "sum_lines<" + v + ">(from, outer, middle, parts, partial)"
                                       : "sum_columns<" + v + ">(from, outer, middle, inner, parts, partial)";
    auto const made = cuda::compile(
        "#include \"text/rows.hpp\"\n"
        "extern \"C\" __global__ void parts(" +
            t +
            " const* from, long outer, long middle, "
            "long inner, long parts, " +
            v + "* partial) { bench::" + way +
            "; }\n"
            "extern \"C\" __global__ void join(" +
            v + "* partial, long inner, long parts, " + t + "* to) { bench::join_parts(partial, inner, parts, to); }\n",
        gpu_.architecture());
    auto const code = cuda::load(made.code);
    auto const parts = cuda::function(code, "parts"), join = cuda::function(code, "join");
    auto const from = on_gpu(x);
    auto const partial = cuda::allocate(static_cast<std::size_t>(outer * shape.parts() * inner) * sizeof(V));
    auto const to = cuda::allocate(y.size() * sizeof(T));
    auto const threads = static_cast<std::size_t>(outer * shape.parts() * (inner == 1 ? 32 : inner));
    CUdeviceptr const from_at = from, partial_at = partial, to_at = to;
    auto const run = [&] {
      cuda::launch(parts, (threads + 255) / 256, 256, stream_, from_at, outer, middle, inner, shape.parts(),
                   partial_at);
      cuda::launch(join, static_cast<std::size_t>(outer), inner == 1 ? 32 : 256, stream_, partial_at, inner,
                   shape.parts(), to_at);
    };
    line("sum of " + t, std::to_string(outer) + " x " + std::to_string(middle) + " x " + std::to_string(inner), made, y,
         to, run, x.size() * sizeof(T));
  }

  /// Softmax of rows of n floats, by 16 threads for each row, of which there is an even number, or by a block for each.
  void softmax(std::size_t rows, std::size_t n, bool by_blocks) {
    auto const x = numbers<float>(rows * n, 0x1p-5f);
    std::vector<float> y(x.size());
    rill::kernels::softmax<float>(rows, n, x.data(), y.data(), {});
    auto const made = cuda::compile(
        "#include \"text/rows.hpp\"\n"
        "extern \"C\" __global__ void rows(float const* from, long rows, long n, float* to) { "
        "bench::softmax_rows(from, rows, n, to); }\n"
        "extern \"C\" __global__ void long_rows(float const* from, long n, float* to) { "
        "bench::softmax_of_long_rows(from, n, to); }\n",
        gpu_.architecture());
    auto const code = cuda::load(made.code);
    auto const function = cuda::function(code, by_blocks ? "long_rows" : "rows");
    auto const from = on_gpu(x);
    auto const to = cuda::allocate(y.size() * sizeof(float));
    CUdeviceptr const from_at = from, to_at = to;
    auto const run = [&] {
      if (by_blocks) cuda::launch(function, rows, 288, stream_, from_at, static_cast<long>(n), to_at);
      else
        cuda::launch(function, (rows * 16 + 255) / 256, 256, stream_, from_at, static_cast<long>(rows),
                     static_cast<long>(n), to_at);
    };
    line(by_blocks ? "softmax of float, a block a row" : "softmax of float, 16 threads a row",
         std::to_string(rows) + " x " + std::to_string(n), made, y, to, run, 2 * x.size() * 4);
  }

 private:
  cuda::device gpu_;
  cuda::stream stream_ = cuda::make_stream();

  template <class T> static cuda::device_memory on_gpu(std::vector<T> const& x) {
    auto memory = cuda::allocate(x.size() * sizeof(T));
    cuda::check(cuMemcpyHtoD(memory, x.data(), x.size() * sizeof(T)), "cuMemcpyHtoD");
    return memory;
  }

  template <class T, class F>
  void line(std::string const& name, std::string const& extents, cuda::compiled const& made, std::vector<T> const& y,
            CUdeviceptr to, F const& run, std::size_t bytes) {
    double const ms = cuda::milliseconds_on_gpu(stream_, 10, run);
    std::vector<T> theirs(y.size());
    cuda::check(cuMemcpyDtoH(theirs.data(), to, theirs.size() * sizeof(T)), "cuMemcpyDtoH");
    auto const found = compare(y.data(), theirs.data(), y.size(), [](std::size_t i) { return std::to_string(i); });
    std::printf("| %s | %s | %zu | %" PRIu64 " | %" PRIu64 " | %.0f | %.1f | %.0f |\n", name.c_str(), extents.c_str(),
                y.size(), found.differing, found.nan_bits, made.seconds * 1e3, ms * 1e3,
                static_cast<double>(bytes) / ms * 1e-6);
    if (found.differing != 0) std::printf("<!-- %s -->\n", found.example.c_str());
    std::fflush(stdout);
  }
};

}  // namespace

int main() try {
  reductions all;
  std::printf(
      "%s\n\n| reduction | extents | results | differ | NaN bits | compiled, ms | µs | GB/s |\n"
      "|---|---|---:|---:|---:|---:|---:|---:|\n",
      all.summary().c_str());
  all.sum<float>(8192, 4096, 1);
  all.sum<float>(8192, 1000, 1);
  all.sum<float>(65536, 15, 1);
  all.sum<float>(1, 1 << 25, 1);
  all.sum<float>(3, 1'000'007, 1);
  all.sum<double>(4096, 5000, 1);
  all.sum<rill::half>(8192, 4096, 1);
  all.sum<float>(1, 8192, 4096);
  all.sum<float>(8, 1001, 333);
  all.sum<double>(1, 4099, 1024);
  for (bool by_blocks : {false, true}) {
    all.softmax(8192, 1000, by_blocks);
    all.softmax(1024, 50'257, by_blocks);
  }
} catch (std::exception const& e) {
  std::fprintf(stderr, "rows: %s\n", e.what());
  return 1;
}
