// Two objects that alternate.
#pragma once
#include <utility>

namespace rill::detail {

/// Holds one T. The first `flip` copies it; each `flip` switches to the other of the two.
template <class T> class double_buffer {
 public:
  T& operator*() { return both_[now_]; }
  T const& operator*() const { return both_[now_]; }
  T* operator->() { return &both_[now_]; }
  T const* operator->() const { return &both_[now_]; }

  void flip() {
    if (!std::exchange(copied_, true)) both_[!now_] = both_[now_];
    now_ = !now_;
  }
  /// Calls `f` with the current object, and with the other one if it exists.
  template <class F> void for_each(F const& f) {
    f(both_[now_]);
    if (copied_) f(both_[!now_]);
  }
  /// Forgets the other object: the next `flip` copies again.
  void rest() { copied_ = false; }

 private:
  T both_[2];
  bool now_ = false, copied_ = false;
};

}  // namespace rill::detail
