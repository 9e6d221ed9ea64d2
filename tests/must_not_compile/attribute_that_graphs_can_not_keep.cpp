// expect: an attribute can't have this type: see rill::attribute
#include <rill/rill.hpp>
struct attributes {
#ifdef VALID
  std::vector<std::string> names;
#else
  std::vector<double> names;
#endif
  static constexpr auto fields(auto const& take) { return take(rill::field{"names", &attributes::names}); }
};
auto f(attributes const& a) { return rill::encode(a); }
