// A variable: a tensor that outlives the step.
#pragma once
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "rill/tensor/tensor.hpp"

namespace rill {

/// A named tensor that steps read and update. Reads are snapshots: they share the elements, and an update copies them
/// first if somebody still looks (white paper §2; copy on write). A read waits for an update that writes in place, and
/// for no other; what asks only for the extents never waits.
class variable_state {
 public:
  variable_state(std::string name, type t);

  std::string const& name() const { return name_; }
  /// The declared type; extents may be unknown.
  rill::type const& type() const { return type_; }
  bool initialized() const { return value_extents().has_value(); }
  /// The extents of the value; none before the first assignment.
  std::optional<shape> value_extents() const;
  /// Throws error(failed_precondition) before the first assignment.
  void expect_value() const;
  /// A snapshot; error(failed_precondition) before the first assignment.
  tensor read() const;
  /// Replaces the value; error(invalid_argument) if it is not of the declared type.
  void assign(tensor t);
  /// Lets `f(tensor&)` fill elements of the given extents that nobody else sees; the memory that is there is used
  /// again, or new one comes from `memory`. `f` must not throw.
  template <class F> void overwrite(shape const& extents, allocator& memory, F&& f) {
    if (!accepts(type_, rill::type(type_.element, extents)))
      throw error(code::invalid_argument,
                  "a value of " + extents.text() + " can't be assigned to a variable of " + type_.text(), name_);
    writer const mine(*this, extents, memory);
    f(mine.value());
  }
  /// Calls `f(tensor&)` with elements that nobody else sees; updates come one after the other.
  template <class F> void update(F&& f) {
    writer const mine(*this);
    f(mine.value());
  }
  /// The right to write, held as long as this lives; take several in the order of their addresses.
  class writer {
   public:
    /// With the elements that are there; error(failed_precondition) before the first assignment.
    explicit writer(variable_state& v);
    /// With elements of those extents, whatever they hold.
    writer(variable_state& v, shape const& extents, allocator& memory);
    ~writer();
    writer(writer const&) = delete;
    writer& operator=(writer const&) = delete;
    /// Elements that nobody else sees; they become the variable's value when this ends.
    tensor& value() const { return value_; }

   private:
    variable_state& variable_;
    mutable tensor value_;  // in the end what was there before, given back without the lock
    std::lock_guard<std::mutex> alone_;
  };

  /// Calls `f(tensor const&)` while no update runs, for who reads a part of a large table: a snapshot would make the
  /// next update copy all of it.
  template <class F> void inspect(F&& f) const {
    std::lock_guard const no_update(updating_);
    expect_value();
    f(value_);
  }
  /// Forgets the value and gives its memory back.
  void reset();

 private:
  tensor take_unshared();
  tensor put(tensor t) noexcept;

  std::string name_;
  rill::type type_;
  mutable std::mutex updating_;  // held by who changes the value, as long as that takes; taken before the other
  mutable std::mutex mutex_;     // guards what follows, for a moment
  tensor value_;                 // changes under both
  std::optional<shape> away_;    // the extents of the value, while an update writes it in place
};

#if RILL_RUNTIME

RILL_INLINE variable_state::variable_state(std::string name, rill::type t) : name_(std::move(name)), type_(t) {}

RILL_INLINE std::optional<shape> variable_state::value_extents() const {
  std::lock_guard const lock(mutex_);
  if (away_ || !value_) return away_;
  return value_.shape();
}

RILL_INLINE void variable_state::expect_value() const {
  if (!initialized())
    throw error(code::failed_precondition,
                "the variable has no value yet: run its assignment or initializer(graph) first, or restore it", name_);
}

RILL_INLINE tensor variable_state::read() const {
  {
    std::lock_guard const lock(mutex_);
    if (value_) return value_;
  }
  std::lock_guard const no_update(updating_);
  expect_value();
  std::lock_guard const lock(mutex_);
  return value_;
}

RILL_INLINE void variable_state::assign(tensor t) {
  if (!accepts(type_, t.type()))
    throw error(code::invalid_argument, "a " + t.type().text() + " can't be assigned to a variable of " + type_.text(),
                name_);
  std::lock_guard const no_update(updating_);
  t = put(std::move(t));
}

RILL_INLINE void variable_state::reset() {
  tensor old;
  std::lock_guard const no_update(updating_);
  old = put(tensor());
}

// The value if nobody else has it; empty otherwise. It is away then, until something is put.
RILL_INLINE tensor variable_state::take_unshared() {
  std::lock_guard const lock(mutex_);
  if (!value_.storage().unique()) return {};
  away_ = value_.shape();
  return std::exchange(value_, {});
}

// Makes `t` the value, and returns the one before: who calls gives it back without a lock, for its allocator may be a
// user's.
RILL_INLINE tensor variable_state::put(tensor t) noexcept {
  std::lock_guard const lock(mutex_);
  std::swap(value_, t);
  away_.reset();
  return t;
}

RILL_INLINE variable_state::writer::writer(variable_state& v) : variable_(v), alone_(v.updating_) {
  v.expect_value();
  value_ = v.take_unshared();
  if (!value_) value_ = v.value_.clone(v.value_.storage().source());
}

RILL_INLINE variable_state::writer::writer(variable_state& v, shape const& extents, allocator& memory)
    : variable_(v), alone_(v.updating_) {
  if (v.value_ && v.value_.shape() == extents) value_ = v.take_unshared();
  if (!value_) value_ = tensor(v.type_.element, extents, memory);
}

RILL_INLINE variable_state::writer::~writer() { value_ = variable_.put(std::move(value_)); }

#endif

}  // namespace rill
