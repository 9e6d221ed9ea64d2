// From texts of kernels to code: from files, or by NVRTC, several texts at a time.
#pragma once
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "rill/base/error.hpp"
#include "rill/cuda/kernel_cache.hpp"
#include "rill/cuda/kernel_text.hpp"
#include "rill/cuda/nvrtc.hpp"

namespace rill::cuda {

/// What became of a text: the image that has its code, or why there is none.
struct compiled_text {
  std::shared_ptr<kernel_image const> image = {};
  failure why = {};
  bool from_file = false;
};

/// Compiles texts for one kind of GPU. Several threads may call it.
class kernel_compiler {
 public:
  /// Compiles by `compiler` for a compute capability, and keeps what it compiled in a folder (kernel_cache.hpp).
  kernel_compiler(nvrtc compiler, int capability, std::filesystem::path const& cache, log_callback const& log);

  /// Returns what became of each text. Those that no file has are compiled as one program, or, if that is refused, each
  /// by itself, so that no text fails for another one.
  std::vector<compiled_text> compile(std::span<kernel_text const* const> texts);
  /// Compiles a text whatever the files have.
  compiled_text compile_anew(kernel_text const& text);

  /// Returns the name of a text's file: the digest of all that the code depends on.
  digest key_of(kernel_text const& text) const;

 private:
  void compile_together(std::span<kernel_text const* const> texts, std::vector<std::size_t> const& which,
                        std::vector<compiled_text>& results);
  std::shared_ptr<kernel_image const> compile_program(std::span<kernel_text const* const> texts,
                                                      std::string const& program);

  nvrtc compiler_;
  int capability_;
  digest surroundings_;  // of all that the code of a text depends on but the text
  kernel_cache cache_;
};

}  // namespace rill::cuda

#if RILL_CUDA_RUNTIME
#include <algorithm>
#include <cstddef>
#include <utility>

#include "rill/cuda/embedded_headers.hpp"

namespace rill::cuda {

namespace detail {

inline digest digest_of_surroundings(nvrtc const& compiler, int capability) {
  std::string all = compiler.identity() + '\0';
  for (auto const& each : compiler.options(capability)) all += each + '\0';
  for (auto const& [name, text] : embedded_headers) all += std::string(name) + '\0' + text + '\0';
  return digest_of(all);
}

}  // namespace detail

RILL_CUDA_INLINE kernel_compiler::kernel_compiler(nvrtc compiler, int capability, std::filesystem::path const& cache,
                                                  log_callback const& log)
    : compiler_(std::move(compiler)),
      capability_(capability),
      surroundings_(detail::digest_of_surroundings(compiler_, capability)),
      cache_(cache, log) {}

RILL_CUDA_INLINE digest kernel_compiler::key_of(kernel_text const& text) const {
  return digest_of(std::string(bytes_of(surroundings_)) + text.part());
}

RILL_CUDA_INLINE std::vector<compiled_text> kernel_compiler::compile(std::span<kernel_text const* const> texts) {
  constexpr std::size_t most = 64;  // of one program, so that a refused one costs little
  std::vector<compiled_text> results(texts.size());
  std::vector<std::size_t> together;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (auto image = cache_.find(key_of(*texts[i]))) results[i] = {std::move(image), {}, true};
    else if (!texts[i]->joins()) results[i] = compile_anew(*texts[i]);
    else together.push_back(i);
    if (together.size() < most && i + 1 < texts.size()) continue;
    compile_together(texts, together, results);
    together.clear();
  }
  return results;
}

RILL_CUDA_INLINE void kernel_compiler::compile_together(std::span<kernel_text const* const> texts,
                                                        std::vector<std::size_t> const& which,
                                                        std::vector<compiled_text>& results) {
  std::vector<kernel_text const*> some;
  std::string program;
  for (auto i : which) some.push_back(texts[i]), program += texts[i]->part();
  std::shared_ptr<kernel_image const> image;
  if (some.size() > 1) try {
      image = compile_program(some, program);
    } catch (...) {  // each says below what is wrong with it
    }
  for (auto i : which) results[i] = image ? compiled_text{image} : compile_anew(*texts[i]);
}

RILL_CUDA_INLINE compiled_text kernel_compiler::compile_anew(kernel_text const& text) try {
  kernel_text const* const one[] = {&text};
  if (text.joins()) try {
      return {compile_program(one, text.part())};
    } catch (...) {  // it may need to stand outside of a namespace
    }
  return {compile_program(one, text.alone())};
} catch (...) {
  return {{}, caught_failure()};
}

RILL_CUDA_INLINE std::shared_ptr<kernel_image const> kernel_compiler::compile_program(
    std::span<kernel_text const* const> texts, std::string const& program) {
  std::vector<digest> keys;
  for (auto const* each : texts) keys.push_back(key_of(*each));
  auto image = std::make_shared<kernel_image>();
  image->code = compiler_.compile(program, capability_);
  image->name = digest_of(image->code);
  cache_.keep(keys, image);
  return image;
}

}  // namespace rill::cuda
#endif
