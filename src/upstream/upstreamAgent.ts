import { Agent } from 'undici'

/** Per upstream origin; the channels' own bounds lie below. What does not fit waits inside its deadline. */
const connectionsMax = 1024
const connectMsMax = 10_000
/** Short: a connection that the upstream closes just as we use it costs an attempt (`unknown`). */
const keepAliveMs = 4_000
const keepAliveMsMax = 30_000
const headerBytesMax = 32 * 1024

/**
 * The connections to upstream models. HTTP/1.1 only: there the first byte of a request is written when
 * its body is first asked for, on which `send` relies. Timeouts of a call are given with each call.
 */
export function createUpstreamAgent(): Agent {
  return new Agent({
    connections: connectionsMax,
    pipelining: 1,
    allowH2: false,
    connect: { timeout: connectMsMax },
    keepAliveTimeout: keepAliveMs,
    keepAliveMaxTimeout: keepAliveMsMax,
    maxHeaderSize: headerBytesMax,
  })
}
