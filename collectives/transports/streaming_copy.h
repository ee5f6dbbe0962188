// A copy whose target will not be read soon.
#pragma once

#include <cstddef>

namespace ringlet {

/// As memcpy, past the caches where the machine can: a normal store first reads the line that it is going to overwrite, which
/// costs a third of the traffic. Only worth it for targets larger than the caches.
void streaming_copy(void* to, const void* from, size_t bytes);

}  // namespace ringlet
