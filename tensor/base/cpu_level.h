// A program built for a newer CPU than the one it stands on says so, instead of dying of an illegal instruction.
#pragma once

/// Runs before every other function of the program, also before the constructors of globals; the linker keeps it in every
/// program that links ringlet::base. When this CPU lacks an instruction set that the build may use, it writes one line to
/// stderr (what is missing, and the RINGLET_ARCH to build with) and ends the process with exit code 7, device not
/// available: no caller exists yet that could be told in another way.
///
/// RINGLET_PRETEND_CPU=x86-64 (or x86-64-v2, -v3, -v4) in the environment takes away what that level lacks, for tests; anything
/// else in it is refused with exit code 2.
extern "C" void ringlet_require_cpu_level();
