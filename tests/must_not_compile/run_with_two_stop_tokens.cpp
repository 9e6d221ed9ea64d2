// expect: a run has one timeout, one std::stop_token and one observer at the most
#include <rill/rill.hpp>
void f(rill::session& s, rill::expr<rill::of<float>> x, std::stop_token const& mine, std::stop_token const& all) {
#ifdef VALID
  s.run(x, mine, rill::timeout{std::chrono::seconds(1)});
  (void)all;
#else
  s.run(x, mine, all);
#endif
}
