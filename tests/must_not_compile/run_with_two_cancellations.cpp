// expect: a run has one timeout, one cancellation and one observer at the most
#include <rill/rill.hpp>
void f(rill::session& s, rill::expr<rill::of<float>> x, rill::cancellation const& mine, rill::cancellation const& all) {
#ifdef VALID
  s.run(x, mine, rill::timeout{std::chrono::seconds(1)});
  (void)all;
#else
  s.run(x, mine, all);
#endif
}
