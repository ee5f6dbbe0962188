// A communicator of device memory under tests that know host memory: every buffer is copied to the device, used there, and copied
// back. So the conformance body runs on it as it stands.
//
// The copies are made so that mistakes show: inputs arrive on the device after the call was made, so that a call that does not wait for
// the caller's stream reads what was there before; outputs are copied back without waiting for more than the caller's stream; and
// what lies around the buffers must be the same afterwards.
#pragma once

#include <memory>

#include "collectives/communicator.h"
#include "tensor/base/gpu.h"

namespace ringlet::test {

/// `inner` takes memory of GPU `device`. Throws an Error when it has written beside its outputs.
std::unique_ptr<Communicator> make_on_device(std::unique_ptr<Communicator> inner, Gpu& gpu, int device);

}  // namespace ringlet::test
