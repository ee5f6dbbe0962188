// What a strategy asks of the parameters and buffers that it is given.
#pragma once

#include "nn/module.h"

namespace ringlet {

/// Throws `Error` unless
/// · there is a trainable parameter;
/// · no two parameters or buffers share elements: in flat memory each gets a place of its own, and what was tied would drift apart. One
///   variable under two names is tied, and welcome;
/// · no parameter is stretched, for its elements would be one and the same; and what stays where it is, frozen parameters and buffers, is
///   contiguous, so that it can be saved and sent.
void check_parameters(const Module& module);

}  // namespace ringlet
