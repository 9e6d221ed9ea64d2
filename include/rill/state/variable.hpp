// Variables: tensors that outlive a step.
#pragma once
#include <algorithm>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "rill/state/versions.hpp"
#include "rill/tensor/tensor.hpp"

namespace rill {

/// A named tensor that steps read and update. A read is a snapshot that shares the elements; an update copies them
/// first if a snapshot still refers to them (white paper §2; copy on write). Reads wait only for updates in place, and
/// queries of the extents never wait. After `container::replace`, steps that began before go on to read and update the
/// old value, which is freed after the last of them; kernels pass `step_context::version` for that.
class variable_state {
  template <class Variable> struct version_lock;
  // The value in versions [since, until).
  struct earlier_value {
    std::uint64_t since, until;
    std::shared_ptr<variable_state> value;
  };

 public:
  variable_state(std::string name, type t);

  std::string const& name() const { return name_; }
  /// Returns the declared type, whose extents may be unknown.
  rill::type const& type() const { return type_; }
  bool initialized(std::uint64_t version = newest_version) const { return value_extents(version).has_value(); }
  /// Returns the memory that the value lies in, null for the host's; nothing before the first assignment.
  std::optional<memory_space*> home() const;
  /// Returns the extents of the value; nothing before the first assignment.
  std::optional<shape> value_extents(std::uint64_t version = newest_version) const;
  /// Throws error(failed_precondition) before the first assignment.
  void expect_value() const;
  /// Returns a snapshot; throws error(failed_precondition) before the first assignment.
  tensor read(std::uint64_t version = newest_version) const;
  /// Replaces the value; throws error(invalid_argument) if `t` is not of the declared type.
  void assign(tensor t, std::uint64_t version = newest_version);
  /// Calls `f(tensor&)` to fill a value of the given extents, which no snapshot shares. It has the value's present
  /// memory if possible, else new memory from `memory`. `f` must not throw.
  template <class F>
  void overwrite(shape const& extents, allocator& memory, F&& f, std::uint64_t version = newest_version);
  /// If the variable has no value, calls `f(tensor&)` to fill one of the given extents, in memory from `memory`. No
  /// update comes in between. Returns whether it had none.
  template <class F>
  bool initialize(shape const& extents, allocator& memory, F&& f, std::uint64_t version = newest_version);
  /// Calls `f(tensor&)` to change the value, which no snapshot shares then. Updates run one after the other.
  template <class F> void update(F&& f, std::uint64_t version = newest_version);
  /// Exclusive access to write the value. Lock several variables in the order of their addresses.
  class writer;

  /// Calls `f(tensor const&)` while no update runs. For reads of a part of a large table: a snapshot would make the
  /// next update copy all of it.
  template <class F> void inspect(F&& f, std::uint64_t version = newest_version) const;
  /// Removes the value and frees its memory.
  void reset();

  /// A new value that replaces the present one from a version on. The constructor does everything that can fail.
  class replacement {
   public:
    /// Throws error(invalid_argument) if `t` is not of the declared type.
    replacement(std::shared_ptr<variable_state> v, tensor t);
    /// Makes the value visible to steps that read `version` or a later one; other steps read the old value.
    void put(std::uint64_t version) noexcept;
    variable_state const* variable() const { return variable_.get(); }

   private:
    std::shared_ptr<variable_state> variable_;
    tensor value_;
    std::list<earlier_value> before_;
  };
  /// Removes and returns the old values that none of the given versions read. Destroy them without holding a lock.
  std::list<earlier_value> forget_all_but(std::span<std::uint64_t const> versions);

 private:
  void expect_extents(shape const& extents) const;
  std::shared_ptr<variable_state> earlier(std::uint64_t version) const;
  std::shared_ptr<variable_state> find_earlier(std::uint64_t version) const;
  tensor take_unshared();
  tensor put(tensor t) noexcept;

  std::string name_;
  rill::type type_;
  mutable std::mutex updating_;        // held throughout an update of the value; locked before mutex_
  mutable std::mutex mutex_;           // guards the members below; held briefly
  tensor value_;                       // changes under both locks
  std::optional<shape> away_;          // the extents of the value, while an update writes it in place
  memory_space* away_from_ = nullptr;  // and where it lies then
  std::uint64_t since_ = 0;            // the first version with the value; changes under both locks
  std::list<earlier_value> earlier_;
};

// Locks the variable against updates, in the state that it has in a version.
template <class Variable> struct variable_state::version_lock {
  version_lock(Variable& v, std::uint64_t version) : variable(&v), no_update(v.updating_) {
    if (!(keep = v.earlier(version))) return;
    no_update.unlock();
    variable = keep.get();
    no_update = std::unique_lock(variable->updating_);
  }
  std::shared_ptr<variable_state> keep;
  Variable* variable;
  std::unique_lock<std::mutex> no_update;
};

class variable_state::writer {
 public:
  /// Gives access to the present elements; throws error(failed_precondition) before the first assignment.
  explicit writer(variable_state& v, std::uint64_t version = newest_version);
  /// Gives access to elements of the given extents with unspecified values.
  writer(variable_state& v, shape const& extents, allocator& memory, std::uint64_t version = newest_version);
  ~writer();
  writer(writer const&) = delete;
  writer& operator=(writer const&) = delete;
  /// Returns the elements, which no snapshot shares; they become the variable's value when the writer is destroyed.
  tensor& value() const { return value_; }

 private:
  mutable tensor value_;  // in the end the old value, freed without the lock
  version_lock<variable_state> at_;
};

template <class F>
void variable_state::overwrite(shape const& extents, allocator& memory, F&& f, std::uint64_t version) {
  expect_extents(extents);
  writer const mine(*this, extents, memory, version);
  f(mine.value());
}

template <class F>
bool variable_state::initialize(shape const& extents, allocator& memory, F&& f, std::uint64_t version) {
  expect_extents(extents);
  version_lock<variable_state> const at(*this, version);
  if (at.variable->initialized()) return false;
  tensor first(type_.element, extents, memory);
  f(first);
  at.variable->put(std::move(first));
  return true;
}

template <class F> void variable_state::update(F&& f, std::uint64_t version) {
  writer const mine(*this, version);
  f(mine.value());
}

template <class F> void variable_state::inspect(F&& f, std::uint64_t version) const {
  version_lock<variable_state const> const at(*this, version);
  at.variable->expect_value();
  f(at.variable->value_);
}

#if RILL_RUNTIME

RILL_INLINE variable_state::variable_state(std::string name, rill::type t) : name_(std::move(name)), type_(t) {}

RILL_INLINE std::optional<shape> variable_state::value_extents(std::uint64_t version) const {
  std::lock_guard const lock(mutex_);
  if (auto const before = find_earlier(version)) return before->value_extents();
  if (away_ || !value_) return away_;
  return value_.shape();
}

RILL_INLINE std::optional<memory_space*> variable_state::home() const {
  std::lock_guard const lock(mutex_);
  if (away_) return away_from_;
  return value_ ? std::optional(value_.space()) : std::nullopt;
}

RILL_INLINE void variable_state::expect_value() const {
  if (!initialized())
    throw error(code::failed_precondition,
                "the variable has no value yet: run its assignment or initializer(graph) first, or restore it", name_);
}

RILL_INLINE void variable_state::expect_extents(shape const& extents) const {
  if (!accepts(type_, rill::type(type_.element, extents)))
    throw error(code::invalid_argument,
                "a value of extents " + extents.text() + " can't be assigned to a variable of type " + type_.text(),
                name_);
}

RILL_INLINE tensor variable_state::read(std::uint64_t version) const {
  {
    std::lock_guard const lock(mutex_);
    if (version >= since_ && value_) return value_;
  }
  version_lock<variable_state const> const at(*this, version);
  at.variable->expect_value();
  std::lock_guard const lock(at.variable->mutex_);
  return at.variable->value_;
}

RILL_INLINE void variable_state::assign(tensor t, std::uint64_t version) {
  if (!accepts(type_, t.type()))
    throw error(code::invalid_argument,
                "a value of type " + t.type().text() + " can't be assigned to a variable of type " + type_.text(),
                name_);
  version_lock<variable_state> const at(*this, version);
  t = at.variable->put(std::move(t));
}

RILL_INLINE void variable_state::reset() {
  tensor old;
  std::lock_guard const no_update(updating_);
  old = put(tensor());
}

RILL_INLINE std::shared_ptr<variable_state> variable_state::earlier(std::uint64_t version) const {
  std::lock_guard const lock(mutex_);
  return find_earlier(version);
}

// Returns the state of the variable in an earlier version; null if it has the present value in that version.
RILL_INLINE std::shared_ptr<variable_state> variable_state::find_earlier(std::uint64_t version) const {
  if (version >= since_) return nullptr;
  for (auto const& e : earlier_)
    if (e.since <= version && version < e.until) return e.value;
  return nullptr;
}

// Returns the value if no snapshot shares it, else an empty handle. The value is away until the next `put`.
RILL_INLINE tensor variable_state::take_unshared() {
  std::lock_guard const lock(mutex_);
  if (!value_.storage().unique()) return {};
  away_ = value_.shape();
  away_from_ = value_.space();
  return std::exchange(value_, {});
}

// Sets the value and returns the old one. The caller frees it without a lock, because its allocator may be a user's.
RILL_INLINE tensor variable_state::put(tensor t) noexcept {
  std::lock_guard const lock(mutex_);
  std::swap(value_, t);
  away_.reset();
  return t;
}

RILL_INLINE variable_state::writer::writer(variable_state& v, std::uint64_t version) : at_(v, version) {
  at_.variable->expect_value();
  value_ = at_.variable->take_unshared();
  auto const& there = at_.variable->value_;
  if (!value_) value_ = there.clone(there.storage().source());
}

RILL_INLINE variable_state::writer::writer(variable_state& v, shape const& extents, allocator& memory,
                                           std::uint64_t version)
    : at_(v, version) {
  auto const& there = at_.variable->value_;
  if (there && there.shape() == extents) value_ = at_.variable->take_unshared();
  if (!value_) value_ = tensor(v.type_.element, extents, memory);
}

RILL_INLINE variable_state::writer::~writer() { value_ = at_.variable->put(std::move(value_)); }

RILL_INLINE variable_state::replacement::replacement(std::shared_ptr<variable_state> v, tensor t)
    : variable_(std::move(v)), value_(std::move(t)) {
  auto const& of = variable_->type();
  if (!value_ || !accepts(of, value_.type()))
    throw error(code::invalid_argument,
                (value_ ? "a value of type " + value_.type().text() : std::string("an empty tensor handle")) +
                    " can't replace the value of a variable of type " + of.text(),
                variable_->name());
  before_.push_back({0, 0, std::make_shared<variable_state>(variable_->name(), of)});
}

RILL_INLINE void variable_state::replacement::put(std::uint64_t version) noexcept {
  auto& v = *variable_;
  std::lock_guard const no_update(v.updating_);
  std::lock_guard const lock(v.mutex_);
  auto& before = before_.front();
  before.value->value_ = std::exchange(v.value_, std::move(value_));
  before.since = std::exchange(v.since_, version);
  before.until = version;
  v.earlier_.splice(v.earlier_.end(), before_);
}

RILL_INLINE std::list<variable_state::earlier_value> variable_state::forget_all_but(
    std::span<std::uint64_t const> versions) {
  std::list<earlier_value> unread;
  std::lock_guard const lock(mutex_);
  for (auto e = earlier_.begin(); e != earlier_.end();) {
    auto const at = e++;
    if (std::none_of(versions.begin(), versions.end(),
                     [&](std::uint64_t v) { return at->since <= v && v < at->until; }))
      unread.splice(unread.end(), earlier_, at);
  }
  return unread;
}

#endif

}  // namespace rill
