#include "running_block.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <deque>
#include <utility>

#include "fiber.hpp"
#include "memory.hpp"
#include "position.hpp"

namespace rill::emulated {

/// The fibers of a thread of the host, which each launch there uses again.
class block_fibers {
 public:
  static block_fibers& of_this_thread() {
    static thread_local block_fibers made;
    return made;
  }

  running_block* now = nullptr;
  fiber host;

  fiber& operator[](std::size_t i) { return all_[i]; }
  void make(std::size_t count) {
    while (all_.size() < count) all_.emplace_back(all_.size(), &run_threads, this);
  }

 private:
  static void run_threads(void* of) {
    for (;;) static_cast<block_fibers*>(of)->now->run_thread();
  }

  std::deque<fiber> all_;
};

namespace {

constexpr std::size_t warp_size = 32;

bool same(std::source_location a, std::source_location b) {
  if (std::bit_cast<std::uintptr_t>(a) == std::bit_cast<std::uintptr_t>(b)) return true;  // what each points to
  return a.line() == b.line() && a.column() == b.column() && std::strcmp(a.file_name(), b.file_name()) == 0;
}
bool same(warp_call const& a, warp_call const& b) {
  return a.which == b.which && a.mask == b.mask && a.width == b.width && a.bytes == b.bytes && same(a.where, b.where);
}

std::string text_of(std::source_location where) {
  return std::string(" at ") + where.file_name() + ":" + std::to_string(where.line());
}
std::string text_of(warp_call const& call) {
  constexpr char const* names[] = {"__syncwarp",      "__shfl_sync",   "__shfl_up_sync", "__shfl_down_sync",
                                   "__shfl_xor_sync", "__ballot_sync", "__any_sync",     "__all_sync"};
  return names[static_cast<std::size_t>(call.which)] + text_of(call.where);
}

/// The lane whose value a lane gets by a shuffle (PTX, shfl.sync).
unsigned source_of(warp_call const& call, unsigned lane) {
  unsigned const group = lane & ~(call.width - 1), last = group | (call.width - 1), operand = call.operand % warp_size;
  switch (call.which) {
    case warp_function::shuffle_up:
      return lane - group >= operand ? lane - operand : lane;
    case warp_function::shuffle_down:
      return lane + operand <= last ? lane + operand : lane;
    case warp_function::shuffle_xor:
      return (lane ^ operand) <= last ? lane ^ operand : lane;
    default:
      return group | (operand & (call.width - 1));
  }
}

}  // namespace

running_block::running_block(kernel_entry const& kernel, void* const* arguments, kernel_thread& now,
                             unsigned long long seed)
    : kernel_(kernel),
      arguments_(arguments),
      now_(now),
      order_(seed),
      lanes_(seed),
      fibers_(block_fibers::of_this_thread()),
      count_(count_of(now.threads)),
      threads_(count_),
      warps_((count_ + warp_size - 1) / warp_size),
      ready_(std::bit_ceil(count_)) {
  fibers_.make(count_);
  for (std::size_t i = 0; i < count_; ++i) {
    threads_[i].runs_on = &fibers_[i];
    threads_[i].position = position(i, now.threads);
  }
}

void running_block::run() {
  fibers_.now = this;
  fault_ = nullptr;
  ended_ = 0;
  for (auto& each : warps_) each = {0, 0};
  if (count_ % warp_size != 0) warps_.back().ended = ~0u << count_ % warp_size;  // lanes without threads
  begin_barrier_phase();
  current_ = ready_[first_++];
  now_.thread = threads_[current_].position;
  fibers_.host.switch_to(*threads_[current_].runs_on);
  if (!fault_) return;
  // Threads that wait never go on. Their stacks hold frames of kernels, and of functions here that own nothing.
  for (std::size_t i = 0; i < count_; ++i)
    if (i != current_ && threads_[i].now != phase::ended) threads_[i].runs_on->drop();
  std::rethrow_exception(std::exchange(fault_, nullptr));
}

/// Lets all threads go on, in a new order.
void running_block::begin_barrier_phase() {
  at_barrier_ = 0;
  order_.begin(count_);
  first_ = 0, last_ = count_;
  for (std::size_t i = 0; i < count_; ++i) {
    ready_[i] = static_cast<unsigned short>(order_[i]);
    threads_[i].now = phase::ready;
  }
}

void running_block::run_thread() {
  auto& mine = *threads_[current_].runs_on;
  try {
    kernel_.run(arguments_);
    end_thread();
  } catch (...) {
    fault_ = std::current_exception();
  }
  if (fault_ || ended_ == count_) mine.switch_to(fibers_.host);
  else go_on();
}

/// Goes on with the next thread, until it is the turn of the one that runs now.
void running_block::go_on() {
  if (first_ == last_) refuse("no thread can go on: " + waiting());
  auto const before = std::exchange(current_, std::size_t{ready_[first_++ & (ready_.size() - 1)]});
  now_.thread = threads_[current_].position;
  if (before != current_) threads_[before].runs_on->switch_to(*threads_[current_].runs_on);
}

void running_block::end_thread() {
  threads_[current_].now = phase::ended;
  ++ended_;
  if (at_barrier_ != 0) refuse("the thread ends, and others wait for it in __syncthreads" + text_of(barrier_));
  auto& mine = warps_[current_ / warp_size];
  unsigned const lane = 1u << current_ % warp_size;
  mine.ended |= lane;
  for (unsigned left = mine.waiting; left != 0; left &= left - 1) {
    auto const& call = *threads_[current_ / warp_size * warp_size + static_cast<unsigned>(std::countr_zero(left))].call;
    if ((call.mask & lane) != 0) refuse("the thread ends, and others wait for it in " + text_of(call));
  }
  if (first_ == last_ && ended_ != count_) refuse("no thread can go on: " + waiting());
}

void running_block::wait_for_block(std::source_location where) {
  if (ended_ != 0) refuse("__syncthreads" + text_of(where) + " is not reached by all threads: one has ended");
  if (at_barrier_ != 0 && !same(where, barrier_))
    refuse("__syncthreads" + text_of(where) + " is not reached by all threads: others wait in the one" +
           text_of(barrier_));
  barrier_ = where;
  threads_[current_].now = phase::at_barrier;
  if (++at_barrier_ == count_) begin_barrier_phase();
  go_on();
}

std::uint64_t running_block::call_in_warp(warp_call const& call) {
  std::size_t const first = current_ / warp_size * warp_size;
  auto& mine = warps_[first / warp_size];
  unsigned const lane = 1u << current_ % warp_size;
  if ((call.mask & lane) == 0) refuse("the mask of " + text_of(call) + " does not name the calling thread");
  if (unsigned const missing = call.mask & mine.ended; missing != 0)
    refuse("the mask of " + text_of(call) + " names lane " + std::to_string(std::countr_zero(missing)) +
           ", whose thread has ended");
  if (!std::has_single_bit(call.width) || call.width > warp_size)
    refuse(text_of(call) + " has the width " + std::to_string(call.width) +
           ", and it should be a power of two up to 32");
  threads_[current_].now = phase::in_warp;
  threads_[current_].call = &call;
  mine.waiting |= lane;
  if ((mine.waiting & call.mask) == call.mask && complete(first, call)) finish(first, call);
  go_on();
  return threads_[current_].result;
}

/// Whether all lanes that a call names are in the same call.
bool running_block::complete(std::size_t first, warp_call const& call) const {
  for (unsigned left = call.mask; left != 0; left &= left - 1)
    if (!same(*threads_[first + static_cast<unsigned>(std::countr_zero(left))].call, call)) return false;
  return true;
}

/// Computes the results of a call, and lets its lanes go on before others.
void running_block::finish(std::size_t first, warp_call const& call) {
  bool const shuffles = call.bytes != 0;
  unsigned ballot = 0;
  for (unsigned left = call.mask; left != 0 && !shuffles; left &= left - 1) {
    auto const lane = static_cast<unsigned>(std::countr_zero(left));
    if (threads_[first + lane].call->value != 0) ballot |= 1u << lane;
  }
  std::uint64_t const vote = call.which == warp_function::any   ? ballot != 0
                             : call.which == warp_function::all ? ballot == call.mask
                                                                : ballot;
  lanes_.begin(warp_size);
  for (std::size_t i = warp_size; i-- > 0;) {
    auto const lane = static_cast<unsigned>(lanes_[i]);
    if ((call.mask >> lane & 1) == 0) continue;
    auto& each = threads_[first + lane];
    each.now = phase::ready;
    each.result = vote;
    if (shuffles) {
      // What comes from a lane that the mask does not name is undefined.
      unsigned const from = source_of(*each.call, lane);
      each.result = (call.mask >> from & 1) != 0 ? threads_[first + from].call->value : ~std::uint64_t{0};
    }
    ready_[--first_ & (ready_.size() - 1)] = static_cast<unsigned short>(first + lane);
  }
  warps_[first / warp_size].waiting &= ~call.mask;
}

/// Where threads wait: one thread for each place.
std::string running_block::waiting() const {
  std::string text;
  std::deque<std::string> seen;
  for (auto const& each : threads_) {
    if (each.now != phase::at_barrier && each.now != phase::in_warp) continue;
    auto const place = each.now == phase::at_barrier ? "__syncthreads" + text_of(barrier_) : text_of(*each.call);
    if (std::find(seen.begin(), seen.end(), place) != seen.end()) continue;
    seen.push_back(place);
    text += (text.empty() ? "thread " : "; thread ") + emulated::text_of(each.position) + " waits in " + place;
  }
  return text;
}

void running_block::refuse(std::string const& why) const {
  throw kernel_fault{status::launch_failed, emulated::text_of(kernel_.name, now_) + ": " + why};
}

}  // namespace rill::emulated
