import { Agent } from 'undici'

const connectMsMax = 10_000
/**
 * How long a connection without a request stays open. Such a connection was opened for a call that was then
 * given up. Another call may use it within this time.
 */
const unusedMsMax = 1_000
const headerBytesMax = 32 * 1024

/**
 * Creates the connections to upstream models. Each call has its own connection. An upstream may send bytes
 * after its answer: garbage, or the answer a second time. If a connection were used again, these bytes would
 * be read as the answer to the next call. Only HTTP/1.1 is used, because `exchange` relies on one of its
 * properties: undici starts a request only when the connection is ready. Each call brings its own timeouts. The number of connections has no limit here: the places of the channels limit the calls, and a call that
 * waited for a connection would look as if the upstream were at work.
 */
export function createUpstreamConnections(): Agent {
  return new Agent({
    // With 0, undici sends `Connection: close`, and closes the connection whatever the upstream answers.
    pipelining: 0,
    allowH2: false,
    connect: { timeout: connectMsMax },
    keepAliveTimeout: unusedMsMax,
    maxHeaderSize: headerBytesMax,
  })
}
