import type { IncomingMessage } from 'node:http'

/** Whether a host name or an address, without port, always means this machine itself. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host)
}

/**
 * Says why a server that listens on `listenHost` must refuse a request, or returns `undefined`.
 *
 * A server on loopback trusts the users of its machine, and so their browsers, in which pages from anywhere
 * run. A page can let its own name resolve to 127.0.0.1 (DNS rebinding): the browser then lets it read the
 * answers, and only the header `Host` shows the foreign name. A page can also send some requests without
 * reading the answers: these name the page in `Origin`. Programs that send neither header are not browsers.
 * A server on another address can be reached under names that it does not know, so it refuses nothing here.
 */
export function foreignRequest(request: IncomingMessage, listenHost: string): string | undefined {
  if (!isLoopback(listenHost)) return undefined
  const { host, origin } = request.headers
  if (host !== undefined && !isLoopbackUrl(`http://${host}`)) {
    return 'the Host header names another host than this machine'
  }
  if (origin !== undefined && !isLoopbackUrl(origin)) {
    return 'the Origin header names a page of another host'
  }
  return undefined
}

/** URL parsing also writes the address in its usual form: `http://127.1` and `http://0x7f.1` are 127.0.0.1. */
function isLoopbackUrl(text: string): boolean {
  const url = URL.parse(text)
  return url !== null && isLoopback(url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, ''))
}
