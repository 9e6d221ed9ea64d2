// Compares matrix products of floats: a GPU's in the order of the processor's kernels, bit by bit, and cuBLAS's, which
// has an order of its own, from run to run and as a graph. Prints a table, a line for each way.
//
// The processor must have FMA and the program be compiled for it (-march=x86-64-v3): without it products are rounded
// before they are added, which no GPU's kernel does here.
#include <cublas_v2.h>

#include <cinttypes>
#include <cmath>
#include <thread>

#include "compare.hpp"
#include "cuda.hpp"
#include "functions.hpp"
#include "rill/ops/matrix/gemm.hpp"

namespace {

using namespace bench;
using rill::kernels::index;

/// Every processor, for a loop at a time.
rill::parallel all_processors() {
  auto const run = [](void*, std::size_t chunks, rill::parallel::body body, void* argument) {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < chunks; ++i) threads.emplace_back([=] { body(argument, i); });
  };
  return {run, nullptr, static_cast<int>(std::max(1u, std::thread::hardware_concurrency()))};
}

std::vector<float> matrix(index rows, index columns, std::uint64_t from) {
  std::vector<float> x(static_cast<std::size_t>(rows * columns));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(inputs::mixed(from + i) >> 40) * 0x1p-23f - 1;
  return x;
}

void check(cublasStatus_t status, char const* what) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw std::runtime_error(std::string(what) + ": " + cublasGetStatusString(status));
}

class products {
 public:
  products() {
    check(cublasCreate(&cublas_), "cublasCreate");
    check(cublasSetStream(cublas_, stream_), "cublasSetStream");
    // Memory of our own: cuBLAS allocates none while a graph is captured, and each stream has the same.
    check(cublasSetWorkspace(cublas_, reinterpret_cast<void*>(static_cast<CUdeviceptr>(workspace_)), workspace_bytes),
          "cublasSetWorkspace");
  }
  products(products const&) = delete;
  ~products() { cublasDestroy(cublas_); }

  std::string summary() const {
    int version = 0;
    cublasGetVersion(cublas_, &version);
    return gpu_.summary() + ", cuBLAS " + std::to_string(version);
  }

  /// C[m, n] = A[m, k] B[k, n]; m and n are multiples of 128 and k of 8.
  void compare_ways(index m, index n, index k) {
    auto const a = matrix(m, k, 0), b = matrix(k, n, 1ull << 32);
    std::vector<float> c(static_cast<std::size_t>(m * n));
    auto const threads = all_processors();
    std::vector<std::byte> scratch(rill::kernels::gemm_scratch_bytes<float>(m, n, k, threads.threads));
    double const begin = cuda::now();
    rill::kernels::gemm<float>(m, n, k, {a.data(), k, 1}, {b.data(), n, 1}, c.data(), n, scratch.data(), threads);
    double const processor = cuda::now() - begin;

    std::string const extents = std::to_string(m) + " x " + std::to_string(n) + " x " + std::to_string(k);
    double const flops = 2 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
    std::printf("| %s | the processor | | | | %.0f | %.2f |\n", extents.c_str(), processor * 1e6,
                flops / processor * 1e-12);

    auto const memory_a = on_gpu(a), memory_b = on_gpu(b), memory_c = cuda::allocate(c.size() * 4);
    CUdeviceptr const at_a = memory_a, at_b = memory_b, at_c = memory_c;
    auto const plan = rill::kernels::gemm_plan_of<float>(m, n, k, 1);
    if (plan.parts != 1) throw std::runtime_error("the GPU's kernel does not cut k into parts");
    auto const made = cuda::compile(
        "#include \"text/product.hpp\"\n"
        "extern \"C\" __global__ __launch_bounds__(256, 2) void product(float const* a, "
        "float const* b, float* c, int n, int k, int depth) { "
        "bench::product(a, b, c, n, k, depth); }\n",
        gpu_.architecture());
    auto const code = cuda::load(made.code);
    auto const own = [&, f = cuda::function(code, "product")] {
      int const columns = static_cast<int>(n), steps = static_cast<int>(k), depth = static_cast<int>(plan.depth);
      void const* const all[] = {&at_a, &at_b, &at_c, &columns, &steps, &depth};
      cuda::check(cuLaunchKernel(f, static_cast<unsigned>(n / 128), static_cast<unsigned>(m / 128), 1, 256, 1, 1, 0,
                                 stream_, const_cast<void**>(all), nullptr),
                  "cuLaunchKernel");
    };
    line(extents, "our own", own, c, at_c, flops);

    // cuBLAS's matrices have contiguous columns: C' = B' A'.
    auto const library = [&] {
      float const one = 1, zero = 0;
      auto const pointer = [](CUdeviceptr p) { return reinterpret_cast<float*>(p); };
      check(cublasSgemm(cublas_, CUBLAS_OP_N, CUBLAS_OP_N, static_cast<int>(n), static_cast<int>(m),
                        static_cast<int>(k), &one, pointer(at_b), static_cast<int>(n), pointer(at_a),
                        static_cast<int>(k), &zero, pointer(at_c), static_cast<int>(n)),
            "cublasSgemm");
    };
    auto const first = line(extents, "cuBLAS", library, c, at_c, flops);
    auto const graph = cuda::instantiated(cuda::captured(stream_, library));
    auto const replay = [&] { cuda::launch(graph, stream_); };
    auto const replayed = line(extents, "cuBLAS, as a graph", replay, c, at_c, flops);
    int same = 0;
    for (int i = 0; i < 50; ++i) {
      cuda::check(cuMemsetD32Async(at_c, 0x7fc00000, c.size(), stream_), "cuMemsetD32Async");
      if (i % 2 == 0) library();
      else replay();
      same += from_gpu(at_c, c.size()) == first;
    }
    std::printf("<!-- cuBLAS: the graph's bits are %s; %d of 50 more runs, half of them graphs, have the same -->\n",
                replayed == first ? "the same" : "others", same);
    check(cublasSetMathMode(cublas_, CUBLAS_TF32_TENSOR_OP_MATH), "cublasSetMathMode");
    line(extents, "cuBLAS, tf32", library, c, at_c, flops);
    check(cublasSetMathMode(cublas_, CUBLAS_DEFAULT_MATH), "cublasSetMathMode");
  }

 private:
  static constexpr std::size_t workspace_bytes = std::size_t{32} << 20;

  cuda::device gpu_;
  cuda::stream stream_ = cuda::make_stream();
  cuda::device_memory workspace_ = cuda::allocate(workspace_bytes);
  cublasHandle_t cublas_ = nullptr;

  static cuda::device_memory on_gpu(std::vector<float> const& x) {
    auto memory = cuda::allocate(x.size() * 4);
    cuda::check(cuMemcpyHtoD(memory, x.data(), x.size() * 4), "cuMemcpyHtoD");
    return memory;
  }
  std::vector<float> from_gpu(CUdeviceptr at, std::size_t n) const {
    std::vector<float> x(n);
    cuda::wait(stream_);
    cuda::check(cuMemcpyDtoH(x.data(), at, n * 4), "cuMemcpyDtoH");
    return x;
  }

  template <class F>
  std::vector<float> line(std::string const& extents, char const* way, F const& run, std::vector<float> const& c,
                          CUdeviceptr at, double flops) {
    cuda::check(cuMemsetD32(at, 0x7fc00000, c.size()), "cuMemsetD32");
    run();
    auto theirs = from_gpu(at, c.size());
    double const ms = cuda::milliseconds_on_gpu(stream_, 20, run);
    auto const found = compare(c.data(), theirs.data(), c.size(), [](std::size_t i) { return std::to_string(i); });
    double most = 0;
    for (std::size_t i = 0; i < c.size(); ++i) most = std::max(most, std::fabs(static_cast<double>(theirs[i] - c[i])));
    std::printf("| %s | %s | %zu | %" PRIu64 " | %.2g | %.0f | %.2f |\n", extents.c_str(), way, c.size(),
                found.differing + found.nan_bits, most, ms * 1e3, flops / ms * 1e-9);
    std::fflush(stdout);
    return theirs;
  }
};

}  // namespace

int main() try {
  products all;
  std::printf(
      "%s; %u threads\n\n| product | by | results | differ | most, absolute | µs | TFLOP/s |\n"
      "|---|---|---:|---:|---:|---:|---:|\n",
      all.summary().c_str(), std::thread::hardware_concurrency());
  all.compare_ways(512, 768, 2304);
  all.compare_ways(1024, 1024, 1024);
  all.compare_ways(4096, 4096, 4096);
} catch (std::exception const& e) {
  std::fprintf(stderr, "products: %s\n", e.what());
  return 1;
}
