#include "fiber.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <new>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#if __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__ 1
#endif
#endif

// ---------------------------------------------------------------------------------------------------------------------
// What sanitizers are told: of stacks, and of `mine`, a pointer that they have for each fiber

#if defined(__SANITIZE_ADDRESS__)
#include <pthread.h>
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>

namespace {

// Its pointer is a fake stack, on which lie variables that it watches after their function has returned.
void know_thread(void*&, void const*& bottom, std::size_t& bytes) {
  ::pthread_attr_t attributes;
  void* found = nullptr;
  if (::pthread_getattr_np(::pthread_self(), &attributes) == 0) {
    ::pthread_attr_getstack(&attributes, &found, &bytes);
    ::pthread_attr_destroy(&attributes);
  }
  bottom = found;
}
void know(void*&) {}
void forget(void*& mine, void const* bottom, std::size_t bytes) {
  __asan_unpoison_memory_region(bottom, bytes);
  if (mine == nullptr) return;
  // Only what runs on a fake stack can free it: the caller does for a moment.
  void const* here = nullptr;
  std::size_t here_bytes = 0;
  void* own = nullptr;
  __sanitizer_start_switch_fiber(&own, bottom, bytes);
  __sanitizer_finish_switch_fiber(mine, &here, &here_bytes);
  __sanitizer_start_switch_fiber(nullptr, here, here_bytes);
  __sanitizer_finish_switch_fiber(own, nullptr, nullptr);
  mine = nullptr;
}
void leave(void*& mine, void*, void const* bottom, std::size_t bytes) {
  __sanitizer_start_switch_fiber(&mine, bottom, bytes);
}
void arrive(void* mine) { __sanitizer_finish_switch_fiber(mine, nullptr, nullptr); }

}  // namespace

#elif defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>

namespace {

// Its pointer is what it takes for a thread.
void know_thread(void*& mine, void const*&, std::size_t&) { mine = __tsan_get_current_fiber(); }
void know(void*& mine) { mine = __tsan_create_fiber(0); }
void forget(void*& mine, void const*, std::size_t) { __tsan_destroy_fiber(mine); }
// Inline, because it counts calls and returns of each.
[[gnu::always_inline]] inline void leave(void*&, void* next, void const*, std::size_t) {
  __tsan_switch_to_fiber(next, 0);
}
void arrive(void*) {}

}  // namespace

#else

namespace {

void know_thread(void*&, void const*&, std::size_t&) {}
void know(void*&) {}
void forget(void*&, void const*, std::size_t) {}
void leave(void*&, void*, void const*, std::size_t) {}
void arrive(void*) {}

}  // namespace

#endif

namespace rill::emulated {

constexpr std::size_t stack_bytes = 64 * 1024;

void run_fiber(fiber&);

}  // namespace rill::emulated

// ---------------------------------------------------------------------------------------------------------------------
// The switch from one stack to another

#if defined(__x86_64__)

// A function that is called keeps rbx, rbp and r12 to r15, so these are all that a fiber needs to go on: they lie on
// its stack below the address of where it goes on. A new one goes on at begin_fiber, with its address in r12.
extern "C" void emulated_switch_stack(void** waiting, void* next);
extern "C" void emulated_begin_fiber();
extern "C" __attribute__((visibility("hidden"), used)) void emulated_run_fiber(rill::emulated::fiber& now) {
  run_fiber(now);
}
asm(R"(
.text
.p2align 4
.hidden emulated_switch_stack
.globl emulated_switch_stack
.type emulated_switch_stack, @function
emulated_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size emulated_switch_stack, .-emulated_switch_stack

.hidden emulated_begin_fiber
.globl emulated_begin_fiber
.type emulated_begin_fiber, @function
emulated_begin_fiber:
  .cfi_startproc
  .cfi_undefined %rip
  movq %r12, %rdi
  call emulated_run_fiber
  ud2
  .cfi_endproc
.size emulated_begin_fiber, .-emulated_begin_fiber
)");

namespace {

void* new_context(std::byte* top, rill::emulated::fiber& of) {
  auto* const at = reinterpret_cast<void**>(top) - 7;
  at[3] = &of;  // r12, behind r15, r14 and r13
  at[6] = reinterpret_cast<void*>(&emulated_begin_fiber);
  return at;
}
void* host_context() { return nullptr; }
void delete_context(void*) {}
void switch_context(void*& from, void* to) { emulated_switch_stack(&from, to); }

}  // namespace

#else

#include <ucontext.h>

namespace {

void begin_fiber(unsigned high, unsigned low) {
  run_fiber(*reinterpret_cast<rill::emulated::fiber*>(std::uintptr_t{high} << 32 | low));
}
void* new_context(std::byte* top, rill::emulated::fiber& of) {
  auto* const made = new ::ucontext_t;
  ::getcontext(made);
  made->uc_stack.ss_sp = top - rill::emulated::stack_bytes / 2;
  made->uc_stack.ss_size = rill::emulated::stack_bytes / 2;
  made->uc_link = nullptr;
  auto const address = std::uint64_t{reinterpret_cast<std::uintptr_t>(&of)};
  ::makecontext(made, reinterpret_cast<void (*)()>(&begin_fiber), 2, static_cast<unsigned>(address >> 32),
                static_cast<unsigned>(address));
  return made;
}
void* host_context() { return new ::ucontext_t; }
void delete_context(void* of) { delete static_cast<::ucontext_t*>(of); }
void switch_context(void* from, void* to) {
  ::swapcontext(static_cast<::ucontext_t*>(from), static_cast<::ucontext_t*>(to));
}

}  // namespace

#endif

// ---------------------------------------------------------------------------------------------------------------------
// Fibers

namespace rill::emulated {

void run_fiber(fiber& now) {
  arrive(now.sanitizer_);
  now.run_(now.argument_);
}

fiber::fiber() : waiting_(host_context()) { know_thread(sanitizer_, bottom_, bytes_); }

fiber::fiber(std::size_t number, void (*run)(void*), void* argument) : number_(number), run_(run), argument_(argument) {
  auto const page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* const at =
      ::mmap(nullptr, page + stack_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (at == MAP_FAILED) throw std::bad_alloc();
  mapped_ = static_cast<std::byte*>(at);
  bottom_ = mapped_ + page;  // the page below has no access: a stack that is too small faults
  bytes_ = stack_bytes;
  if (::mprotect(mapped_ + page, stack_bytes, PROT_READ | PROT_WRITE) != 0) {
    ::munmap(mapped_, page + stack_bytes);
    throw std::bad_alloc();
  }
  prepare();
}

fiber::~fiber() {
  if (mapped_ == nullptr) {
    delete_context(waiting_);
    return;
  }
  forget();
  std::byte const* const end = static_cast<std::byte const*>(bottom_) + bytes_;
  ::munmap(mapped_, static_cast<std::size_t>(end - mapped_));
}

void fiber::drop() {
  forget();
  prepare();
}

/// Makes it ready to begin.
void fiber::prepare() {
  // The same bytes of all stacks would otherwise lie in the same few sets of the cache.
  std::size_t const apart = number_ % 32 * 128;
  waiting_ = new_context(mapped_ + (static_cast<std::byte const*>(bottom_) - mapped_) + bytes_ - apart, *this);
  know(sanitizer_);
}

/// Ends what `prepare` began.
void fiber::forget() {
  delete_context(waiting_);
  ::forget(sanitizer_, bottom_, bytes_);
}

void fiber::switch_to(fiber& next) {
  leave(sanitizer_, next.sanitizer_, next.bottom_, next.bytes_);
  switch_context(waiting_, next.waiting_);
  arrive(sanitizer_);
}

}  // namespace rill::emulated
