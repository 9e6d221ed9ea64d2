#include "driver.hpp"

#include <unistd.h>

#include "environment.hpp"
#include "faults.hpp"
#include "lies.hpp"
#include "page_locked.hpp"

namespace rill::emulated {
namespace {

std::mutex initializing;
std::atomic<driver*> initialized{nullptr};  // never destroyed: threads of streams may outlive static objects
std::atomic<::pid_t> process{0};

}  // namespace

void initialize() {
  expect(process == 0 || process == ::getpid(), status::not_initialized);
  std::lock_guard const lock(initializing);
  if (initialized) return;
  auto const count = number_of_environment("RILL_EMULATED_GPUS", 2);
  expect(count != 0, status::no_device);
  auto const bytes = number_of_environment("RILL_EMULATED_MEMORY", 1ull << 30);
  auto made = std::make_unique<driver>();
  for (unsigned long long i = 0; i < count; ++i)
    made->devices.push_back(std::make_unique<device>(static_cast<int>(i), bytes));
  process = ::getpid();
  initialized = made.release();
}
driver& the_driver() {
  auto* const found = initialized.load();
  expect(found != nullptr && process == ::getpid(), status::not_initialized);
  return *found;
}

context_stack& current_contexts() {
  static thread_local constinit context_stack current{};
  return current;
}
std::shared_ptr<context> current_context() {
  auto& all = the_driver();
  expect(!current_contexts().empty(), status::invalid_context);
  auto found = all.contexts.find(current_contexts().back(), context_is_destroyed);
  expect(found->error() == status::success, found->error());
  return found;
}

void context::fail(status why) {
  auto none = status::success;
  error_.compare_exchange_strong(none, why);
  look_at_held_launches();
}

std::shared_ptr<stream> context::make_stream(bool blocks) {
  auto made = std::make_shared<stream>(shared_from_this(), blocks);
  made->start();
  std::lock_guard const lock(enqueueing_);
  std::erase_if(streams_, [](auto& each) { return each.expired(); });
  streams_.push_back(made);
  return made;
}
std::shared_ptr<stream> context::legacy_stream() {
  {
    std::lock_guard const lock(enqueueing_);
    if (legacy_) return legacy_;
  }
  auto made = make_stream(true);
  std::lock_guard const lock(enqueueing_);
  if (!legacy_) legacy_ = made;
  else made->close();
  return legacy_;
}

/// The work of other streams that comes before what is enqueued now. For the null stream: the work of all blocking
/// streams; for a blocking stream: the null stream's work.
std::vector<work_mark> context::ordered_with(stream const& on) {
  std::vector<work_mark> before;
  if (!on.blocks() || !legacy_) return before;
  if (&on != legacy_.get()) return {legacy_->mark()};
  for (auto const& each : streams_)
    if (auto const other = each.lock(); other && other != legacy_ && other->blocks()) before.push_back(other->mark());
  return before;
}

void context::enqueue(stream& on, std::function<void()> work, after_failure then) {
  std::lock_guard const lock(enqueueing_);
  on.enqueue(
      [this, work = std::move(work), then] {
        if (error() != status::success && then == after_failure::skip) return;
        try {
          work();
        } catch (kernel_fault const& fault) {
          record_fault(fault.what);
          fail(fault.why);
        } catch (failure const& failed) {
          fail(failed.why);
        } catch (std::exception const& thrown) {
          record_fault(thrown.what());
          fail(status::unknown);
        }
      },
      ordered_with(on));
}
void context::enqueue_wait(stream& on, work_mark for_work) {
  std::lock_guard const lock(enqueueing_);
  auto before = ordered_with(on);
  before.push_back(std::move(for_work));
  on.enqueue([] {}, std::move(before));
}
work_mark context::mark(stream& on) { return on.mark(); }
void context::wait_for(stream& on) {
  std::vector<work_mark> marks;
  {
    std::lock_guard const lock(enqueueing_);
    marks = ordered_with(on);
    marks.push_back(on.mark());
  }
  for (auto const& mark : marks) mark.wait();
}

void context::end() {
  ending_ = true;
  look_at_held_launches();
  auto& all = the_driver();
  auto const mine = [&](auto const& object) { return &object.owner() == this; };
  all.streams.take_if(mine);
  all.events.take_if(mine);
  all.functions.take_if([&](auto const& f) { return f.of->owner.get() == this; });
  all.modules.take_if([&](auto const& m) { return m.owner.get() == this; });
  std::vector<std::weak_ptr<stream>> streams;
  {
    std::lock_guard const lock(enqueueing_);
    streams.swap(streams_);
    legacy_.reset();
  }
  for (auto const& each : streams)
    if (auto const open = each.lock()) open->close();
  for (auto const& each : streams)
    if (auto const open = each.lock()) open->wait_for_end();
  of_.memory.end_all();
  page_locked().free_all(*this);
}

}  // namespace rill::emulated
