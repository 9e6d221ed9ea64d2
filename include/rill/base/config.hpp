// What a translation unit holds: everything (header-only), or only what users write (rill::compiled has the rest).
//
// RILL_COMPILED    set by the target rill::compiled: operations and their kernels are in the library
// RILL_DEFINITIONS this unit defines operations: header-only programs and the library's own units
// RILL_KERNELS     this unit defines the raw kernels behind them: the same, and the library's units for each processor
#pragma once

#if !defined(RILL_COMPILED)
#define RILL_DEFINITIONS 1
#define RILL_KERNELS 1
#endif
