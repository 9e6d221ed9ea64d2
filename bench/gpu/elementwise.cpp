// Compares elementwise functions bit by bit: NVRTC compiles rill's own text of them for a GPU, and the processor
// computes the same with packets. Prints a table, a line for each function.
//   elementwise [--share N] [NAME...]      only every N-th number, N odd; only these functions
#include <cinttypes>
#include <thread>

#include "compare.hpp"
#include "cuda.hpp"
#include "functions.hpp"

namespace {

using namespace bench;

constexpr std::size_t tile = 1024;  // numbers at a time; functions are compared for whole tiles

/// F of the numbers of In on the processor: by packets, or one by one for functions of plain numbers.
template <class F, class In, bool Lanes> struct on_processor {
  using element = typename In::element;

  static auto result_type() {
    if constexpr (Lanes) return element{};
    else return F::at(element{});
  }
  using result = decltype(result_type());

  static void compute(element const (&x)[2][tile], result* y) {
    for (std::size_t i = 0; i < tile;) {
      if constexpr (Lanes) {
        using packet = rill::packet<element>;
        if constexpr (In::arity == 1) F::at(packet::load(x[0] + i)).store(y + i);
        else F::at(packet::load(x[0] + i), packet::load(x[1] + i)).store(y + i);
        i += packet::lanes;
      } else {
        y[i] = F::at(x[0][i]);
        ++i;
      }
    }
  }

  /// Compares the results for numbers first, first + step, …, first + (n - 1) step with a GPU's; n is whole tiles.
  static tally compare(std::uint64_t first, std::uint64_t step, std::size_t n, void const* from_gpu) {
    auto const* const theirs = static_cast<result const*>(from_gpu);
    tally all;
    static thread_local element x[2][tile];
    static thread_local result y[tile];
    for (std::size_t at = 0; at < n; at += tile) {
      for (std::size_t i = 0; i < tile; ++i)
        for (int k = 0; k < In::arity; ++k) x[k][i] = In::operand(first + (at + i) * step, k);
      compute(x, y);
      all += bench::compare(y, theirs + at, tile, [](std::size_t i) {
        return shown(x[0][i]) + (In::arity == 2 ? ", " + shown(x[1][i]) : "");
      });
    }
    return all;
  }
};

/// A function, the numbers for which it is compared, and how.
struct test {
  std::string name, numbers;
  std::string value;  ///< in CUDA C++, of x and y
  std::string input;  ///< the type of the inputs
  std::string element, result;
  std::string builtin;  ///< CUDA's own function; empty if there is none or it is not asked for
  int arity;
  std::size_t result_bytes;
  std::uint64_t count;
  tally (*compare)(std::uint64_t first, std::uint64_t step, std::size_t n, void const* from_gpu);
};

template <class F, class In>
test of_lanes(std::string name, std::string numbers, std::string input, std::string element, std::uint64_t count,
              std::string builtin = {}) {
  using here = on_processor<F, In, true>;
  std::string const value = "bench::lanes::" + name + "_of::at(rill::packet<" + element + ">(x)" +
                            (In::arity == 2 ? ", rill::packet<" + element + ">(y)" : "") + ")[0]";
  return {std::move(name), std::move(numbers), value,     "bench::inputs::" + input,     element,
          element,         std::move(builtin), In::arity, sizeof(typename here::result), count,
          here::compare};
}

template <class F, class In>
test of_numbers(std::string name, std::string function, std::string numbers, std::string input, std::string element,
                std::string result, std::uint64_t count) {
  using here = on_processor<F, In, false>;
  return {std::move(name),
          std::move(numbers),
          "bench::numbers::" + function + "::at(x)",
          "bench::inputs::" + input,
          std::move(element),
          std::move(result),
          "",
          In::arity,
          sizeof(typename here::result),
          count,
          here::compare};
}

constexpr std::uint64_t all_words = std::uint64_t{1} << 32, all_shorts = 1 << 16, many = std::uint64_t{1} << 30;

template <class F> test floats(std::string name, std::string builtin = {}) {
  return of_lanes<F, inputs::every<float>>(std::move(name), "all floats", "every<float>", "float", all_words,
                                           std::move(builtin));
}
template <class F> test doubles(std::string name) {
  return of_lanes<F, inputs::doubles>(std::move(name), "doubles", "doubles", "double", many);
}
template <class F> test pairs(std::string name, std::uint64_t count, std::string builtin = {}) {
  return of_lanes<F, inputs::float_pairs>(std::move(name), "pairs of floats", "float_pairs", "float", count,
                                          std::move(builtin));
}
template <class F, class T> test integers(std::string name, std::string type) {
  return of_lanes<F, inputs::integer_pairs<T>>(std::move(name), "pairs of " + type,
                                               "integer_pairs<std::" + type + "_t>", "std::" + type + "_t", many);
}
template <class To> test from_floats(std::string to, std::string type) {
  return of_numbers<numbers::cast_to<To>, inputs::every<float>>("to " + to, "cast_to<" + type + ">", "all floats",
                                                                "every<float>", "float", type, all_words);
}
template <class To> test from_doubles(std::string to, std::string type) {
  return of_numbers<numbers::cast_to<To>, inputs::doubles>("to " + to, "cast_to<" + type + ">", "doubles", "doubles",
                                                           "double", type, many);
}
template <class From> test from_short(std::string from) {
  return of_numbers<numbers::cast_to<float>, inputs::every<From>>("to float", "cast_to<float>", "all of " + from,
                                                                  "every<rill::" + from + ">", "rill::" + from, "float",
                                                                  all_shorts);
}

std::vector<test> tests() {
  using namespace lanes;
  return {floats<exp_of>("exp", "expf(x)"),
          floats<expm1_of>("expm1", "expm1f(x)"),
          floats<log_of>("log", "logf(x)"),
          floats<log1p_of>("log1p", "log1pf(x)"),
          floats<tanh_of>("tanh", "tanhf(x)"),
          floats<sigmoid_of>("sigmoid", "1.0f / (1.0f + expf(-x))"),
          floats<softplus_of>("softplus", "fmaxf(x, 0.0f) + log1pf(expf(-fabsf(x)))"),
          floats<erf_of>("erf", "erff(x)"),
          floats<sin_of>("sin", "sinf(x)"),
          floats<cos_of>("cos", "cosf(x)"),
          floats<tan_of>("tan", "tanf(x)"),
          floats<gelu_of>("gelu", "x * 0.5f * (1.0f + erff(x * 0.70710678118654752f))"),
          floats<gelu_tanh_of>("gelu_tanh"),
          floats<silu_of>("silu"),
          floats<sqrt_of>("sqrt", "sqrtf(x)"),
          floats<rsqrt_of>("rsqrt", "rsqrtf(x)"),
          floats<reciprocal_of>("reciprocal", "1.0f / x"),
          floats<polynomial_of>("polynomial", "((x * 0.125f - 0.75f) * x + 1.5f) * x - 2.0f"),
          floats<round_of>("round"),
          floats<floor_of>("floor"),
          floats<ceil_of>("ceil"),
          floats<trunc_of>("trunc"),
          floats<sign_of>("sign"),
          from_floats<rill::half>("half", "rill::half"),
          from_floats<rill::bfloat16>("bfloat16", "rill::bfloat16"),
          from_floats<std::int32_t>("int32", "std::int32_t"),
          from_floats<std::int64_t>("int64", "std::int64_t"),
          from_floats<std::uint8_t>("uint8", "std::uint8_t"),
          from_short<rill::half>("half"),
          from_short<rill::bfloat16>("bfloat16"),
          pairs<add_of>("add", all_words),
          pairs<mul_of>("mul", all_words),
          pairs<div_of>("div", all_words, "x / y"),
          pairs<maximum_of>("maximum", all_words),
          pairs<pow_of>("pow", all_words, "powf(x, y)"),
          of_lanes<pow_of, inputs::near_pairs>("pow", "pairs of floats near 1", "near_pairs", "float", many),
          pairs<atan2_of>("atan2", all_words, "atan2f(x, y)"),
          pairs<mod_of>("mod", many / 16),
          pairs<floor_div_of>("floor_div", many / 16),
          doubles<exp_of>("exp"),
          doubles<expm1_of>("expm1"),
          doubles<log_of>("log"),
          doubles<log1p_of>("log1p"),
          doubles<tanh_of>("tanh"),
          doubles<sigmoid_of>("sigmoid"),
          doubles<erf_of>("erf"),
          doubles<sin_of>("sin"),
          doubles<cos_of>("cos"),
          doubles<tan_of>("tan"),
          doubles<sqrt_of>("sqrt"),
          doubles<reciprocal_of>("reciprocal"),
          from_doubles<rill::half>("half", "rill::half"),
          from_doubles<std::int64_t>("int64", "std::int64_t"),
          integers<div_of, std::int32_t>("div", "int32"),
          integers<floor_div_of, std::int32_t>("floor_div", "int32"),
          integers<mod_of, std::int32_t>("mod", "int32"),
          integers<div_of, std::int64_t>("div", "int64"),
          integers<mod_of, std::int64_t>("mod", "int64"),
          integers<div_of, std::uint32_t>("div", "uint32"),
          integers<mul_of, std::int32_t>("mul", "int32"),
          integers<floor_div_of, std::int8_t>("floor_div", "int8"),
          integers<pow_of, std::int32_t>("pow", "int32"),
          of_numbers<numbers::random_word_of, inputs::counted>("random words", "random_word_of", "counters", "counted",
                                                               "std::uint64_t", "std::uint32_t", many)};
}

/// A kernel that computes results from their numbers, and one that reads its operands from memory, for times.
std::string kernel_text(test const& t, std::string const& value) {
  std::string const second = t.arity == 2 ? "  auto const y = " + t.input + "::operand(number, 1);\n" : "";
  std::string const second_read = t.arity == 2 ? "  auto const y = from[i ^ 1];\n" : "";
  return "#include \"functions.hpp\"\n"
         "extern \"C\" __global__ void computed(unsigned long first, unsigned long step, unsigned n, " +
         t.result +
         "* to) {\n"
         "  unsigned const i = blockIdx.x * blockDim.x + threadIdx.x;\n"
         "  if (i >= n) return;\n"
         "  unsigned long const number = first + i * step;\n"
         "  auto const x = " +
         t.input + "::operand(number, 0);\n" + second + "  to[i] = " + value +
         ";\n"
         "}\n"
         "extern \"C\" __global__ void mapped(" +
         t.element + " const* from, unsigned n, " + t.result +
         "* to) {\n"
         "  unsigned const i = blockIdx.x * blockDim.x + threadIdx.x;\n"
         "  if (i >= n) return;\n"
         "  auto const x = from[i];\n" +
         second_read + "  to[i] = " + value +
         ";\n"
         "}\n";
}

class comparison {
 public:
  static constexpr std::size_t chunk = std::size_t{1} << 25;  // results at a time, two of them in flight

  comparison() {
    for (auto& b : buffers_) {
      b.results = cuda::allocate(chunk * 8);
      b.on_host = cuda::allocate_on_host(chunk * 8);
      b.stream = cuda::make_stream();
    }
    operands_ = cuda::allocate(chunk * 8);
  }

  std::string summary() const { return gpu_.summary(); }

  /// Compares a function for all of its numbers and prints a line of the table.
  void run(test const& t, std::uint64_t share) {
    double const begin = cuda::now();
    auto const own = cuda::compile(kernel_text(t, t.value), gpu_.architecture());
    double const before_load = cuda::now();
    auto const code = cuda::load(own.code);
    auto const computed = cuda::function(code, "computed"), mapped = cuda::function(code, "mapped");
    double const load = cuda::now() - before_load;

    auto const count = (t.count / share + tile - 1) / tile * tile;
    auto const found = compared(t, computed, share, count);
    std::printf("| %s | %s | %" PRIu64 " | %" PRIu64 " | %" PRIu64 " | %.0f | %.1f | %d | %d | %s | %s | %s | %.1f |\n",
                t.name.c_str(), t.numbers.c_str(), count, found.differing, found.nan_bits, own.seconds * 1e3,
                load * 1e3, cuda::attribute(mapped, CU_FUNC_ATTRIBUTE_NUM_REGS),
                cuda::attribute(mapped, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES), speed(t, mapped).c_str(),
                contracted(t).c_str(), builtin(t).c_str(), cuda::now() - begin);
    if (found.differing != 0) std::printf("<!-- %s: %s -->\n", t.name.c_str(), found.example.c_str());
    std::fflush(stdout);
  }

 private:
  struct buffer {
    cuda::device_memory results;
    cuda::host_memory on_host;
    cuda::stream stream;
  };
  cuda::device gpu_;
  buffer buffers_[2];
  cuda::device_memory operands_;
  std::size_t threads_ = std::max(1u, std::thread::hardware_concurrency());

  /// The GPU computes a chunk and copies it while the processor compares the one before.
  tally compared(test const& t, CUfunction f, std::uint64_t step, std::uint64_t count) {
    tally all;
    auto const size_at = [&](std::uint64_t at) {
      return static_cast<unsigned>(std::min<std::uint64_t>(chunk, count - at));
    };
    auto const enqueue = [&](std::uint64_t at) {
      auto const& b = buffers_[at / chunk % 2];
      CUdeviceptr const to = b.results;
      cuda::launch(f, (size_at(at) + 255) / 256, 256, b.stream, at * step, step, size_at(at), to);
      cuda::check(cuMemcpyDtoHAsync(b.on_host, to, size_at(at) * t.result_bytes, b.stream), "cuMemcpyDtoHAsync");
    };
    for (std::uint64_t at = 0; at < count; at += chunk) {
      if (at == 0) enqueue(at);
      if (at + chunk < count) enqueue(at + chunk);
      auto const& b = buffers_[at / chunk % 2];
      cuda::wait(b.stream);
      all +=
          compared_by_threads(t, at, step, size_at(at), static_cast<std::byte const*>(static_cast<void*>(b.on_host)));
    }
    return all;
  }

  tally compared_by_threads(test const& t, std::uint64_t at, std::uint64_t step, std::size_t n,
                            std::byte const* results) const {
    constexpr std::size_t run = 1 << 14;
    std::vector<tally> parts(threads_);
    {
      std::vector<std::jthread> threads;
      for (std::size_t thread = 0; thread < threads_; ++thread)
        threads.emplace_back([&, thread] {
          for (std::size_t i = thread * run; i < n; i += threads_ * run)
            parts[thread] += t.compare((at + i) * step, step, std::min(run, n - i), results + i * t.result_bytes);
        });
    }
    tally all;
    for (auto const& part : parts) all += part;
    return all;
  }

  /// Microseconds that the GPU takes for 2^25 numbers from memory, between -8 and 8 and of even spread.
  std::string speed(test const& t, CUfunction mapped) {
    if (t.element != "float") return "";
    auto* const x = static_cast<float*>(static_cast<void*>(buffers_[0].on_host));
    for (std::size_t i = 0; i < chunk; ++i) x[i] = static_cast<float>(inputs::mixed(i) >> 40) * 0x1p-20f - 8;
    cuda::check(cuMemcpyHtoD(operands_, x, chunk * 4), "cuMemcpyHtoD");
    CUdeviceptr const from = operands_, to = buffers_[0].results;
    double const ms = cuda::milliseconds_on_gpu(buffers_[0].stream, 10, [&] {
      cuda::launch(mapped, chunk / 256, 256, buffers_[0].stream, from, static_cast<unsigned>(chunk), to);
    });
    char text[32];
    std::snprintf(text, sizeof text, "%.0f", ms * 1e3);
    return text;
  }

  /// The same with products contracted with sums, which changes bits.
  std::string contracted(test const& t) {
    if (t.builtin.empty()) return "";
    auto const code = cuda::load(cuda::compile(kernel_text(t, t.value), gpu_.architecture(), {"--fmad=true"}).code);
    return speed(t, cuda::function(code, "mapped"));
  }

  /// The same of CUDA's own function, and how many of 2^26 of its results are not the processor's.
  std::string builtin(test const& t) {
    if (t.builtin.empty()) return " | ";
    auto const code = cuda::load(cuda::compile(kernel_text(t, t.builtin), gpu_.architecture(), {"--fmad=true"}).code);
    auto const count = std::min<std::uint64_t>(t.count, 1 << 26);
    auto const found = compared(t, cuda::function(code, "computed"), (t.count / count - 1) | 1, count);
    char text[64];
    std::snprintf(text, sizeof text, " | %.3g %%",
                  100 * static_cast<double>(found.differing) / static_cast<double>(count));
    return speed(t, cuda::function(code, "mapped")) + text;
  }
};

}  // namespace

int main(int count, char** words) try {
  std::vector<std::string> names(words + 1, words + count);
  std::uint64_t share = 1;
  if (names.size() >= 2 && names[0] == "--share") {
    share = std::stoull(names[1]);
    names.erase(names.begin(), names.begin() + 2);
  }
  comparison all;
  std::printf("%s; %u threads\n\n", all.summary().c_str(), std::thread::hardware_concurrency());
  std::printf(
      "| function | of | results | differ | NaN bits | compiled, ms | loaded, ms | registers | stack, bytes | µs "
      "| µs, contracted | µs, CUDA's own | CUDA's own differ | compared, s |\n"
      "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n");
  for (auto const& t : tests())
    if (names.empty() || std::find(names.begin(), names.end(), t.name) != names.end()) all.run(t, share);
} catch (std::exception const& e) {
  std::fprintf(stderr, "elementwise: %s\n", e.what());
  return 1;
}
