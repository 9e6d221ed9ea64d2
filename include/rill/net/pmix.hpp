// Addresses by the store of a launcher that has PMIx, as Open MPI's mpirun does. libpmix is loaded when it is asked
// for; what is used of it has been the same since PMIx 2 (PMIx Standard 4.1, §3 to §6), so that its headers are not
// needed.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rill/base/config.hpp"
#include "rill/base/error.hpp"

namespace rill::net {

/// Stores the address of this process, waits for all, and returns the addresses of all by their ranks. Returns nothing
/// if there is no libpmix. Throws error(deadline_exceeded) if not all come in time, and error(unavailable) if the
/// library reports an error.
std::optional<std::vector<std::string>> exchange_by_pmix(std::uint32_t processes, std::string const& own,
                                                         std::chrono::nanoseconds timeout);

#if RILL_NET_RUNTIME
}  // namespace rill::net

#include <dlfcn.h>

#include <condition_variable>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <mutex>

#include "rill/base/deadline.hpp"

namespace rill::net {

namespace detail::pmix {

// As pmix_common.h has them.
struct process {
  char run[256] = {};
  std::uint32_t rank = 0;
};
struct value {
  std::uint16_t type = 0;
  union {
    char* string;
    std::byte most[64];
  } data = {.most = {}};
};
static_assert(offsetof(value, data) == 8);
inline constexpr std::uint16_t string_type = 3;  // PMIX_STRING
inline constexpr std::uint8_t everywhere = 3;    // PMIX_GLOBAL
using done = void (*)(int status, void* with);

/// What is called of the library.
struct library {
  int (*init)(process*, void*, std::size_t) = nullptr;
  int (*put)(std::uint8_t, char const*, value*) = nullptr;
  int (*commit)() = nullptr;
  int (*fence)(process const*, std::size_t, void const*, std::size_t, done, void*) = nullptr;
  int (*get)(process const*, char const*, void const*, std::size_t, value**) = nullptr;
  int (*finalize)(void const*, std::size_t) = nullptr;
  char const* (*text_of)(int) = nullptr;

  /// It stays loaded: it has a thread.
  static std::optional<library> load() {
    auto* const at = ::dlopen("libpmix.so.2", RTLD_NOW | RTLD_LOCAL);
    if (at == nullptr) return {};
    library l;
    bool const found = l.find(at, l.init, "PMIx_Init") && l.find(at, l.put, "PMIx_Put") &&
                       l.find(at, l.commit, "PMIx_Commit") && l.find(at, l.fence, "PMIx_Fence_nb") &&
                       l.find(at, l.get, "PMIx_Get") && l.find(at, l.finalize, "PMIx_Finalize") &&
                       l.find(at, l.text_of, "PMIx_Error_string");
    return found ? std::optional(l) : std::nullopt;
  }
  void check(int status, char const* what) const {
    if (status == 0) return;
    throw error(code::unavailable, std::string("the launcher's store of addresses (PMIx) can't be used: ") + what +
                                       " failed with " + text_of(status) +
                                       "; set RILL_FIRST to the host of process 0 to do without it");
  }

 private:
  template <class F> static bool find(void* at, F& f, char const* name) {
    f = reinterpret_cast<F>(::dlsym(at, name));
    return f != nullptr;
  }
};

/// A part in the store: from PMIx_Init to PMIx_Finalize.
class store {
 public:
  explicit store(library const& l) : pmix_(l) { pmix_.check(pmix_.init(&self_, nullptr, 0), "PMIx_Init"); }
  ~store() { (void)pmix_.finalize(nullptr, 0); }
  store(store const&) = delete;
  store& operator=(store const&) = delete;

  void put(std::string own) const {
    value v;
    v.type = string_type;
    v.data.string = own.data();
    pmix_.check(pmix_.put(everywhere, "rill.address", &v), "PMIx_Put");
    pmix_.check(pmix_.commit(), "PMIx_Commit");
  }
  void wait_for_all(std::chrono::nanoseconds timeout) const {
    struct result {
      std::mutex mutex;
      std::condition_variable came;
      std::optional<int> status;
    };
    auto const r = std::make_shared<result>();
    auto* const kept = new std::shared_ptr<result>(r);  // the library may call after we have gone
    auto const started = pmix_.fence(
        nullptr, 0, nullptr, 0,
        [](int status, void* with) {
          std::unique_ptr<std::shared_ptr<result>> const to(static_cast<std::shared_ptr<result>*>(with));
          std::lock_guard lock((*to)->mutex);
          (*to)->status = status;
          (*to)->came.notify_all();
        },
        kept);
    if (started != 0) delete kept;
    pmix_.check(started, "PMIx_Fence_nb");
    std::unique_lock lock(r->mutex);
    if (!r->came.wait_until(lock, deadline_after(timeout), [&] { return r->status.has_value(); }))
      throw error(code::deadline_exceeded,
                  "not all processes of the run have told the launcher their addresses in time: has one of them ended, "
                  "or does one not call cluster::from_environment?");
    pmix_.check(*r->status, "PMIx_Fence_nb");
  }
  std::string get(std::uint32_t rank) const {
    auto of = self_;
    of.rank = rank;
    value* found = nullptr;
    pmix_.check(pmix_.get(&of, "rill.address", nullptr, 0, &found), "PMIx_Get");
    std::string text;
    if (found->type == string_type && found->data.string != nullptr) {
      text = found->data.string;
      std::free(found->data.string);
    }
    std::free(found);
    return text;
  }

 private:
  library const& pmix_;
  process self_;
};

}  // namespace detail::pmix

RILL_NET_INLINE std::optional<std::vector<std::string>> exchange_by_pmix(std::uint32_t processes,
                                                                         std::string const& own,
                                                                         std::chrono::nanoseconds timeout) {
  auto const library = detail::pmix::library::load();
  if (!library) return {};
  detail::pmix::store const store(*library);
  store.put(own);
  store.wait_for_all(timeout);
  std::vector<std::string> all;
  for (std::uint32_t r = 0; r < processes; ++r) all.push_back(store.get(r));
  return all;
}

#endif

}  // namespace rill::net
