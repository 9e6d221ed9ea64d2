// Times NVRTC: what the prelude costs, a precompiled one, several kernels in one program, several programs on threads,
// and the driver's cache. Prints a table.
#include <array>
#include <functional>
#include <thread>

#include "cuda.hpp"

namespace {

using namespace bench;

constexpr std::array functions{"exp", "expm1", "log",  "log1p", "tanh",  "sigmoid", "softplus", "erf",
                               "sin", "cos",   "gelu", "silu",  "rsqrt", "round",   "floor",    "reciprocal"};

constexpr char const* prelude = "#include \"functions.hpp\"\n";

/// A kernel whose name and text no other has. `value` is of `x`.
std::string kernel(std::string const& value) {
  static int number = 0;
  std::string const n = std::to_string(++number);
  return "extern \"C\" __global__ void map" + n +
         "(float const* from, float* to, unsigned n) {\n"
         "  unsigned const i = blockIdx.x * blockDim.x + threadIdx.x;\n"
         "  if (i >= n) return;\n"
         "  float const x = from[i];\n"
         "  to[i] = " +
         value + " + " + n + ";\n}\n";
}
std::string of(std::string const& function, std::string const& x = "x") {
  return "bench::lanes::" + function + "_of::at(rill::packet<float>(" + x + "))[0]";
}

class timing {
 public:
  std::string summary() const { return gpu_.summary(); }

  void all() {
    std::vector<std::string> const fresh{"--no-cache"}, cached, precompiled{"--no-cache", "--pch"};
    row("x + 1, without the prelude", 1, [&] { return kernel("x"); }, fresh);
    row("x + 1", 1, [&] { return prelude + kernel("x"); }, fresh);
    row("x + 1, the prelude precompiled (--pch)", 1, [&] { return prelude + kernel("x"); }, precompiled);
    row("exp", 1, [&] { return prelude + kernel(of("exp")); }, fresh);
    row("exp, the prelude precompiled", 1, [&] { return prelude + kernel(of("exp")); }, precompiled);
    row("a chain of 8 functions", 1, [&] { return prelude + kernel(chain(8)); }, fresh);
    row("a chain of 8 functions, the prelude precompiled", 1, [&] { return prelude + kernel(chain(8)); }, precompiled);
    std::string const same = prelude + kernel(of("exp"));
    row("exp again, from the cache", 1, [&] { return same; }, cached);
    row("16 functions, one program", 1, [&] { return prelude + sixteen(); }, fresh);
    row("16 functions, one program, the prelude precompiled", 1, [&] { return prelude + sixteen(); }, precompiled);
    row("16 functions, 16 programs one after the other", 16, each_function(), fresh);
    row("16 functions, 16 programs, the prelude precompiled", 16, each_function(), precompiled);
    for (unsigned threads : {4u, 16u}) {
      on_threads("16 functions, 16 programs, " + std::to_string(threads) + " threads", threads, fresh);
      on_threads("16 functions, 16 programs, " + std::to_string(threads) + " threads, the prelude precompiled", threads,
                 precompiled);
    }
  }

 private:
  cuda::device gpu_;
  std::string architecture_ = gpu_.architecture();

  static std::string chain(int length) {
    std::string x = "x";
    for (int i = 0; i < length; ++i) x = of(functions[static_cast<std::size_t>(i)], x);
    return x;
  }
  static std::string sixteen() {
    std::string text;
    for (auto const* f : functions) text += kernel(of(f));
    return text;
  }
  static std::function<std::string()> each_function() {
    return [i = std::size_t{0}]() mutable { return prelude + kernel(of(functions[i++ % functions.size()])); };
  }

  static void line(std::string const& what, std::vector<double> ms, std::string const& load) {
    std::sort(ms.begin(), ms.end());
    std::printf("| %s | %.0f | %.0f | %s |\n", what.c_str(), ms[ms.size() / 2], ms[0], load.c_str());
    std::fflush(stdout);
  }

  /// The median over five rounds of the milliseconds for `programs` texts, and those to load the last.
  void row(std::string const& what, int programs, std::function<std::string()> const& text,
           std::vector<std::string> const& options) {
    std::vector<double> ms;
    std::string code;
    for (int round = 0; round < 6; ++round) {  // the first warms up
      double seconds = 0;
      for (int i = 0; i < programs; ++i) {
        auto made = cuda::compile(text(), architecture_, options);
        seconds += made.seconds;
        code = std::move(made.code);
      }
      if (round > 0) ms.push_back(seconds * 1e3);
    }
    double const begin = cuda::now();
    auto const loaded = cuda::load(code);
    line(what, ms, std::to_string((cuda::now() - begin) * 1e3).substr(0, 4));
  }

  void on_threads(std::string const& what, unsigned threads, std::vector<std::string> const& options) {
    std::vector<double> ms;
    for (int round = 0; round < 5; ++round) {
      std::vector<std::string> texts;
      for (auto const* f : functions) texts.push_back(prelude + kernel(of(f)));
      double const begin = cuda::now();
      {
        std::vector<std::jthread> all;
        for (unsigned thread = 0; thread < threads; ++thread)
          all.emplace_back([&, thread] {
            for (std::size_t i = thread; i < texts.size(); i += threads)
              cuda::compile(texts[i], architecture_, options);
          });
      }
      ms.push_back((cuda::now() - begin) * 1e3);
    }
    line(what, ms, "");
  }
};

}  // namespace

int main() try {
  timing t;
  std::printf("%s; %u threads\n\n| text | ms | least | loaded, ms |\n|---|---:|---:|---:|\n", t.summary().c_str(),
              std::thread::hardware_concurrency());
  t.all();
} catch (std::exception const& e) {
  std::fprintf(stderr, "compile: %s\n", e.what());
  return 1;
}
