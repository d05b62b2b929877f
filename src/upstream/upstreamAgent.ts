import { Agent } from 'undici'

/** Per upstream origin; the channels' own bounds lie below. What does not fit waits inside its deadline. */
const connectionsMax = 1024
const connectMsMax = 10_000
/** A connection opened for a call that was given up meanwhile may still serve one, so long. */
const unusedMsMax = 1_000
const headerBytesMax = 32 * 1024

/**
 * The connections to upstream models, one for each call: on a connection that served before, what an
 * upstream sends behind its answer (garbage, or the answer once more) would be taken for the answer to
 * the next call. HTTP/1.1 only: there the first byte of a request is written when its body is first
 * asked for, on which `send` relies. Timeouts of a call are given with each call.
 */
export function createUpstreamAgent(): Agent {
  return new Agent({
    connections: connectionsMax,
    // The library's way to say `Connection: close`, and to close whatever the upstream says to that.
    pipelining: 0,
    allowH2: false,
    connect: { timeout: connectMsMax },
    keepAliveTimeout: unusedMsMax,
    maxHeaderSize: headerBytesMax,
  })
}
