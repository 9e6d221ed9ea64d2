#include "faults/failing.hpp"

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <new>

namespace rill::faults {
namespace {

struct counter {
  std::atomic<std::int64_t> asked{0}, first{0};
  std::atomic<bool> armed{false}, all{false};

  // Whether this one fails.
  bool fails() {
    if (!armed.load(std::memory_order_relaxed)) return false;
    auto const n = ++asked;
    auto const from = first.load(std::memory_order_relaxed);
    return from != 0 && (n == from || (n > from && all.load(std::memory_order_relaxed)));
  }
};
constinit counter memory, threads;
counter& of(what kind) { return kind == what::memory ? memory : threads; }

void* take(std::size_t bytes, std::size_t alignment) noexcept {
  if (memory.fails()) return nullptr;
  if (alignment <= __STDCPP_DEFAULT_NEW_ALIGNMENT__) return std::malloc(bytes ? bytes : 1);
  return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}
void* take_or_throw(std::size_t bytes, std::size_t alignment) {
  if (void* const p = take(bytes, alignment)) return p;
  throw std::bad_alloc();
}

}  // namespace

void arm(what kind, plan p) {
  auto& c = of(kind);
  c.asked = 0;
  c.first = p.first;
  c.all = p.all;
  c.armed = true;
}
std::int64_t disarm(what kind) {
  auto& c = of(kind);
  c.armed = false;
  return c.asked;
}

bool start_fails() { return threads.fails(); }

}  // namespace rill::faults

constexpr auto plain = std::size_t{__STDCPP_DEFAULT_NEW_ALIGNMENT__};
void* operator new(std::size_t n) { return rill::faults::take_or_throw(n, plain); }
void* operator new[](std::size_t n) { return rill::faults::take_or_throw(n, plain); }
void* operator new(std::size_t n, std::nothrow_t const&) noexcept { return rill::faults::take(n, plain); }
void* operator new[](std::size_t n, std::nothrow_t const&) noexcept { return rill::faults::take(n, plain); }
void* operator new(std::size_t n, std::align_val_t a) { return rill::faults::take_or_throw(n, std::size_t(a)); }
void* operator new[](std::size_t n, std::align_val_t a) { return rill::faults::take_or_throw(n, std::size_t(a)); }
void* operator new(std::size_t n, std::align_val_t a, std::nothrow_t const&) noexcept {
  return rill::faults::take(n, std::size_t(a));
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::nothrow_t const&) noexcept { std::free(p); }
void operator delete[](void* p, std::nothrow_t const&) noexcept { std::free(p); }

// The C library's, or a sanitizer's, behind one that may fail.
using creating = int(pthread_t*, pthread_attr_t const*, void* (*)(void*), void*);
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
extern "C" creating __interceptor_pthread_create;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define RILL_TEST_INTERCEPTED 1
extern "C" creating __interceptor_pthread_create;
#endif
#endif
extern "C" int pthread_create(pthread_t* thread, pthread_attr_t const* how, void* (*run)(void*), void* with) {
  if (rill::faults::start_fails()) return EAGAIN;
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__) || defined(RILL_TEST_INTERCEPTED)
  return __interceptor_pthread_create(thread, how, run, with);
#else
  static auto* const create = reinterpret_cast<creating*>(::dlsym(RTLD_NEXT, "pthread_create"));
  return create(thread, how, run, with);
#endif
}
