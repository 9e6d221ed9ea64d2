// expect: run: fetches are handles, operations, names, rill::outputs(...) or one std::vector<rill::value>;
// expect: options are a timeout, a std::stop_token, an observe and a client
#include <rill/rill.hpp>
void f(rill::session& s, std::vector<rill::value> const& all, std::vector<rill::expr<rill::of<float>>> const& typed) {
#ifdef VALID
  s.run(all), static_cast<void>(typed);
#else
  s.run(typed), static_cast<void>(all);
#endif
}
