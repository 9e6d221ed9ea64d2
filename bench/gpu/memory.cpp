// Times a GPU's memory: allocation, with and without a pool, and copies between host and GPU. Prints tables.
#include <cstring>

#include "cuda.hpp"

namespace {

using namespace bench;

/// The median of many rounds.
double median(std::vector<double> times) {
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
  return times[times.size() / 2];
}

template <class F> double microseconds(int rounds, F const& f) {
  std::vector<double> times;
  for (int i = 0; i < rounds + 2; ++i) {
    double const begin = cuda::now();
    f();
    if (i >= 2) times.push_back((cuda::now() - begin) * 1e6);
  }
  return median(std::move(times));
}

std::string shown(std::size_t bytes) {
  char const* const units[] = {"B", "KiB", "MiB", "GiB"};
  int unit = 0;
  for (; unit < 3 && bytes >= 1024; ++unit) bytes /= 1024;
  return std::to_string(bytes) + " " + units[unit];
}

class memory {
 public:
  std::string summary() const { return gpu_.summary(); }

  /// Microseconds to take and to give back memory, by the host's clock.
  void allocation() {
    CUmemoryPool pool = nullptr;
    cuda::check(cuDeviceGetDefaultMemPool(&pool, gpu_.id()), "cuDeviceGetDefaultMemPool");
    cuuint64_t keep = ~cuuint64_t{0};  // the pool gives nothing back to the system
    cuda::check(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep), "cuMemPoolSetAttribute");
    std::printf(
        "## Allocation\n\nMicroseconds of the host.\n\n| bytes | cuMemAlloc | cuMemFree | cuMemAllocAsync, first "
        "| cuMemAllocAsync | cuMemFreeAsync | cuMemHostAlloc | cuMemFreeHost |\n"
        "|---|---:|---:|---:|---:|---:|---:|---:|\n");
    for (std::size_t const bytes :
         {std::size_t{1} << 10, std::size_t{1} << 20, std::size_t{1} << 26, std::size_t{1} << 30}) {
      CUdeviceptr p = 0;
      void* h = nullptr;
      auto const timed = [](auto const& f) {
        double const begin = cuda::now();
        f();
        return (cuda::now() - begin) * 1e6;
      };
      double const first = timed([&] { cuda::check(cuMemAllocAsync(&p, bytes, stream_), "cuMemAllocAsync"); });
      cuda::check(cuMemFreeAsync(p, stream_), "cuMemFreeAsync");
      cuda::wait(stream_);
      std::vector<double> take, give, take_async, give_async, take_host, give_host;
      for (int i = 0; i < 50; ++i) {
        take.push_back(timed([&] { cuda::check(cuMemAlloc(&p, bytes), "cuMemAlloc"); }));
        give.push_back(timed([&] { cuda::check(cuMemFree(p), "cuMemFree"); }));
        take_async.push_back(timed([&] { cuda::check(cuMemAllocAsync(&p, bytes, stream_), "cuMemAllocAsync"); }));
        give_async.push_back(timed([&] { cuda::check(cuMemFreeAsync(p, stream_), "cuMemFreeAsync"); }));
        cuda::wait(stream_);
      }
      for (int i = 0; i < (bytes > std::size_t{1} << 26 ? 3 : 10); ++i) {
        take_host.push_back(timed([&] { cuda::check(cuMemHostAlloc(&h, bytes, 0), "cuMemHostAlloc"); }));
        give_host.push_back(timed([&] { cuda::check(cuMemFreeHost(h), "cuMemFreeHost"); }));
      }
      std::printf("| %s | %.1f | %.1f | %.1f | %.2f | %.2f | %.1f | %.1f |\n", shown(bytes).c_str(), median(take),
                  median(give), first, median(take_async), median(give_async), median(take_host), median(give_host));
      std::fflush(stdout);
    }
    std::printf("\n");
  }

  /// Copies and their wait, one at a time, and gigabytes a second.
  void copies() {
    std::printf(
        "## Copies\n\nMicroseconds of a copy and the wait for it, and GB/s.\n\n| bytes | to the GPU, page-locked "
        "| GB/s | from the GPU, page-locked | GB/s | to the GPU, pageable | GB/s | from the GPU, pageable | GB/s "
        "| within the GPU | GB/s read and written |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n");
    constexpr std::size_t most = std::size_t{1} << 28;
    auto const there = cuda::allocate(most), other = cuda::allocate(most);
    auto const locked = cuda::allocate_on_host(most);
    std::memset(locked, 1, most);
    std::vector<char> pageable(most, 1);
    CUdeviceptr const at = there;
    for (std::size_t const bytes : {std::size_t{4}, std::size_t{1} << 12, std::size_t{1} << 16, std::size_t{1} << 20,
                                    std::size_t{1} << 24, most}) {
      int const rounds = bytes < most ? 200 : 20;
      std::printf("| %s", shown(bytes).c_str());
      auto const cell = [&](double share, auto const& copy) {
        double const us = microseconds(rounds, [&] {
          cuda::check(copy(), "a copy");
          cuda::wait(stream_);
        });
        std::printf(" | %.1f | %.2f", us, share * static_cast<double>(bytes) / us * 1e-3);
      };
      cell(1, [&] { return cuMemcpyHtoDAsync(at, locked, bytes, stream_); });
      cell(1, [&] { return cuMemcpyDtoHAsync(locked, at, bytes, stream_); });
      cell(1, [&] { return cuMemcpyHtoDAsync(at, pageable.data(), bytes, stream_); });
      cell(1, [&] { return cuMemcpyDtoHAsync(pageable.data(), at, bytes, stream_); });
      cell(2, [&] { return cuMemcpyDtoDAsync(other, at, bytes, stream_); });
      std::printf(" |\n");
      std::fflush(stdout);
    }
    // Both ways at once, on two streams.
    auto const back = cuda::make_stream();
    double const us = microseconds(10, [&] {
      cuda::check(cuMemcpyHtoDAsync(at, locked, most / 2, stream_), "cuMemcpyHtoDAsync");
      cuda::check(cuMemcpyDtoHAsync(static_cast<char*>(static_cast<void*>(locked)) + most / 2, other, most / 2, back),
                  "cuMemcpyDtoHAsync");
      cuda::wait(stream_);
      cuda::wait(back);
    });
    std::printf("\n%s each way at once: %.1f GB/s together.\n\n", shown(most / 2).c_str(),
                static_cast<double>(most) / us * 1e-3);
  }

 private:
  cuda::device gpu_;
  cuda::stream stream_ = cuda::make_stream();
};

}  // namespace

int main() try {
  memory all;
  std::printf("%s\n\n", all.summary().c_str());
  all.allocation();
  all.copies();
} catch (std::exception const& e) {
  std::fprintf(stderr, "memory: %s\n", e.what());
  return 1;
}
