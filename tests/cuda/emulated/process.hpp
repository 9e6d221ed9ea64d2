// Programs that are run and waited for, without a shell.
#pragma once
#include <string>
#include <vector>

namespace rill::emulated {

/// Runs a program, which the search path finds, with what it prints going to a file. Returns whether it ran and ended
/// with 0; the file has the reason if it could not be run.
bool run_program(std::vector<std::string> const& arguments, std::string const& output);

}  // namespace rill::emulated
