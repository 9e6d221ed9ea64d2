// The emulated NVRTC's compiler: the host's, which makes an object of a text.
#pragma once
#include <string>
#include <utility>
#include <vector>

namespace rill::emulated {

/// A program of nvrtcCreateProgram.
struct program_text {
  std::string text, name;
  std::vector<std::pair<std::string, std::string>> headers;  ///< names and texts
};

/// What options of NVRTC mean here.
struct compile_options {
  int architecture = 0;              ///< such as 90
  bool real = false;                 ///< sm_90, not compute_90
  std::vector<std::string> defines;  ///< options of the host's compiler
};
/// Throws bad_option.
compile_options read_options(std::vector<std::string> const& options);
struct bad_option {
  std::string why;
};

struct compiled_text {
  bool good = false;
  std::string log;
  std::vector<std::string> objects;  ///< the paths of its parts
};
/// Compiles each part of a program by itself (text.hpp): what it was compiled to before is found again in other
/// programs.
compiled_text compile(program_text const& program, compile_options const& options);

/// Returns how many texts the host's compiler has compiled.
unsigned long long compiled_texts();
/// Returns how many programs were compiled, or found in the cache, or refused.
unsigned long long compiled_programs();
/// Returns how many programs are alive.
unsigned long long live_programs();

}  // namespace rill::emulated
