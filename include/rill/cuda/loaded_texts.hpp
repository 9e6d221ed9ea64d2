// Texts of kernels on a card.
#pragma once
#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "rill/cuda/card.hpp"
#include "rill/cuda/kernel_compiler.hpp"

namespace rill::cuda {

/// How many entries a map may have before those that nobody uses are looked for.
inline constexpr std::size_t most_unused = 1024;

/// Erases the entries of which `unused(entry)` is true if there are more than `most`, and sets that so that this costs
/// little for each new entry. Programs that record many graphs would otherwise fill the memory.
template <class Map, class Unused> void forget(Map& known, std::size_t& most, Unused const& unused) {
  if (known.size() <= most) return;
  std::erase_if(known, unused);
  most = std::max(most_unused, 2 * known.size());
}

/// A compiled program on a card.
struct loaded_program {
  std::shared_ptr<card const> on;
  std::shared_ptr<kernel_image const> image;
  module_handle module = nullptr;

  /// Loads an image. The card's context must be current.
  loaded_program(std::shared_ptr<card const> c, std::shared_ptr<kernel_image const> i);
  loaded_program(loaded_program const&) = delete;
  loaded_program& operator=(loaded_program const&) = delete;
  ~loaded_program();
};

/// The texts of a device. A text waits until one of its kernels is wanted; then all that wait are compiled together, by
/// the thread that wants it. Each text is compiled once, however many threads want it.
class loaded_texts {
 public:
  /// A text, and what became of it.
  struct text {
    kernel_text const in_program;

    explicit text(std::string const& t) : in_program(t) {}

   private:
    friend class loaded_texts;
    enum class state { waiting, compiling, loaded, failed };
    state now = state::waiting;
    bool failed_before = false;
    std::shared_ptr<loaded_program const> program = {};
    failure why = {};
  };

  /// `cache` and `log`: as of kernel_compiler.
  loaded_texts(std::shared_ptr<card const> c, nvrtc const& compiler, std::filesystem::path const& cache,
               log_callback const& log)
      : card_(std::move(c)), compiler_(compiler, compiler.newest_for(card_->capability()), cache, log) {}

  /// Returns a text that waits, or what became of it. One that failed waits again: memory may have been short.
  std::shared_ptr<text> add(std::string const& source);
  /// Returns the program of a text, and compiles it first if it waits. Throws what NVRTC or the driver says. The card's
  /// context must be current.
  std::shared_ptr<loaded_program const> load(text& t);

 private:
  std::vector<text*> take_with(text& t);
  void compile(std::vector<text*> const& some, std::vector<compiled_text> made);
  void finish(text& t, compiled_text made);
  std::shared_ptr<loaded_program const> program_of(std::shared_ptr<kernel_image const> const& image);

  std::shared_ptr<card const> card_;
  kernel_compiler compiler_;
  std::mutex mutex_;
  std::condition_variable compiled_;
  std::map<std::string, std::shared_ptr<text>> known_;
  std::size_t most_known_ = most_unused;
  std::map<kernel_image const*, std::weak_ptr<loaded_program const>> programs_;
};

}  // namespace rill::cuda

#if RILL_CUDA_RUNTIME
#include <utility>

namespace rill::cuda {

RILL_CUDA_INLINE loaded_program::loaded_program(std::shared_ptr<card const> c, std::shared_ptr<kernel_image const> i)
    : on(std::move(c)), image(std::move(i)) {
  on->driver()(on->driver().call().load_module, &module, static_cast<void const*>(image->code.data()));
}
RILL_CUDA_INLINE loaded_program::~loaded_program() {
  on->within([&] { return on->driver().call().unload_module(module); });
}

RILL_CUDA_INLINE std::shared_ptr<loaded_texts::text> loaded_texts::add(std::string const& source) {
  std::lock_guard const lock(mutex_);
  forget(known_, most_known_,
         [](auto const& each) { return each.second.use_count() == 1 && each.second->now != text::state::compiling; });
  auto& known = known_[source];
  if (!known) known = std::make_shared<text>(source);
  if (known->now == text::state::failed) known->now = text::state::waiting;
  return known;
}

RILL_CUDA_INLINE std::shared_ptr<loaded_program const> loaded_texts::load(text& t) {
  std::unique_lock lock(mutex_);
  for (;;) {
    compiled_.wait(lock, [&] { return t.now != text::state::compiling; });
    if (t.now == text::state::loaded) return t.program;
    if (t.now == text::state::failed) throw error(*t.why);
    auto const some = take_with(t);
    std::vector<compiled_text> made(some.size());
    for (auto* each : some) each->now = text::state::compiling;
    lock.unlock();
    compile(some, std::move(made));
    lock.lock();
    // Another thread may have added a text that failed again meanwhile.
    if (t.now != text::state::loaded && t.why) throw error(*t.why);
  }
}

// A text that was refused before would make its neighbours be compiled one by one.
RILL_CUDA_INLINE std::vector<loaded_texts::text*> loaded_texts::take_with(text& t) {
  std::vector<text*> some{&t};
  for (auto const& [source, each] : known_)
    if (each.get() != &t && each->now == text::state::waiting && !each->failed_before && !t.failed_before)
      some.push_back(each.get());
  return some;
}

RILL_CUDA_INLINE void loaded_texts::compile(std::vector<text*> const& some, std::vector<compiled_text> made) {
  try {
    std::vector<kernel_text const*> texts;
    for (auto const* each : some) texts.push_back(&each->in_program);
    made = compiler_.compile(texts);
  } catch (...) {
    for (auto& each : made) each.why = caught_failure();
  }
  for (std::size_t i = 0; i < some.size(); ++i) finish(*some[i], std::move(made[i]));
}

RILL_CUDA_INLINE void loaded_texts::finish(text& t, compiled_text made) {
  std::shared_ptr<loaded_program const> program;
  for (bool again = made.from_file; made.image && !program; again = false) try {
      program = program_of(made.image);
    } catch (...) {
      made.why = caught_failure();
      made.image = nullptr;
      if (again) made = compiler_.compile_anew(t.in_program);  // the driver does not take what the file has
    }
  std::lock_guard const lock(mutex_);
  t.now = program ? text::state::loaded : text::state::failed;
  t.failed_before = t.failed_before || !program;
  t.program = std::move(program);
  t.why = std::move(made.why);
  compiled_.notify_all();
}

RILL_CUDA_INLINE std::shared_ptr<loaded_program const> loaded_texts::program_of(
    std::shared_ptr<kernel_image const> const& image) {
  {
    std::lock_guard const lock(mutex_);
    if (auto const at = programs_.find(image.get()); at != programs_.end())
      if (auto loaded = at->second.lock()) return loaded;
  }
  auto loaded = std::make_shared<loaded_program const>(card_, image);
  std::lock_guard const lock(mutex_);
  std::erase_if(programs_, [](auto const& each) { return each.second.expired(); });
  programs_[image.get()] = loaded;
  return loaded;
}

}  // namespace rill::cuda
#endif
