// What the tests share of programs that get no more threads.
#pragma once
#include <pthread.h>

#include <cstddef>

namespace rill {

/// While it lives, a thread is given a larger stack than there is memory, so that none can be started.
class no_threads {
 public:
  no_threads() {
    pthread_getattr_default_np(&before_);
    pthread_attr_t huge;
    pthread_getattr_default_np(&huge);
    pthread_attr_setstacksize(&huge, std::size_t{1} << 55);
    pthread_setattr_default_np(&huge);
    pthread_attr_destroy(&huge);
  }
  ~no_threads() {
    pthread_setattr_default_np(&before_);
    pthread_attr_destroy(&before_);
  }
  no_threads(no_threads const&) = delete;
  no_threads& operator=(no_threads const&) = delete;

 private:
  pthread_attr_t before_;
};

}  // namespace rill
