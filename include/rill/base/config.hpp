// What a translation unit holds: everything (header-only), all but the run time (header-only, with the run time in one
// file of the program), or only what users write (rill::compiled has the rest).
//
// RILL_COMPILED    set by the target rill::compiled: operations, their kernels and the run time are in the library
// RILL_COMPILED_IO set by it as well if the library was built with zlib and nlohmann-json: it has what reads files, too
// RILL_SEPARATE    set by a program for all of its files: one of them has the run time, the one that sets RILL_RUNTIME
// RILL_DEFINITIONS this unit defines operations: header-only programs and the library's own units
// RILL_KERNELS     this unit defines the raw kernels behind them: the same, and the library's units for each processor
// RILL_RUNTIME     this unit defines what is no template: graphs, gradients, passes, plans, sessions
// RILL_IO_RUNTIME  the same, of what needs zlib or nlohmann-json: most of rill/io.hpp
// RILL_INLINE      how such a definition is marked: inline where every unit has it, nothing where one has
// RILL_IO_INLINE   how that of RILL_IO_RUNTIME is marked
// RILL_COMPILER    marks what all programs call by the compiler: g++ and clang lay out lambdas' captures in different
//                  orders, so that a program and a run time of two compilers must not be linked
// RILL_LIFETIMEBOUND marks what hands out a part of its argument: clang warns where that outlives it
#pragma once

#if defined(__clang__)
#define RILL_COMPILER [[gnu::abi_tag("clang")]]
#else
#define RILL_COMPILER [[gnu::abi_tag("gnu")]]
#endif

#if defined(__clang__)
#define RILL_LIFETIMEBOUND [[clang::lifetimebound]]
#else
#define RILL_LIFETIMEBOUND
#endif

#if defined(RILL_COMPILED) && defined(RILL_SEPARATE)
#error "RILL_SEPARATE is for programs without rill::compiled, which has the run time already"
#endif

#if !defined(RILL_COMPILED)
#define RILL_DEFINITIONS 1
#define RILL_KERNELS 1
#endif

#if defined(RILL_COMPILED) || defined(RILL_SEPARATE)
#define RILL_INLINE
#else
#define RILL_RUNTIME 1
#define RILL_INLINE inline
#endif

#if RILL_COMPILED_IO
#define RILL_IO_INLINE
#elif defined(RILL_SEPARATE)
#define RILL_IO_INLINE
#define RILL_IO_RUNTIME RILL_RUNTIME
#else
#define RILL_IO_INLINE inline
#define RILL_IO_RUNTIME 1
#endif
