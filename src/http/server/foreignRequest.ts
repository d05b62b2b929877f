import type { IncomingMessage } from 'node:http'
import { isLoopback } from '../../domain/isLoopback.ts'

/**
 * Says why a server must refuse a request, or returns `undefined`. A server that browsers can reach knows its names:
 * `listenHost`, every name of loopback where that is one, and `allowedHosts`. A request for another host, or from a page
 * of another origin, is foreign. A proxy may have replaced `Host`, so a page of an allowed host is not foreign either.
 *
 * A server on loopback trusts the users of its machine, and so their browsers, in which pages from anywhere
 * run. A page can let its own name resolve to 127.0.0.1 (DNS rebinding): the browser then lets it read the
 * answers, and only the header `Host` shows the foreign name. A page can also send some requests without
 * reading the answers: these name the page in `Origin`. Programs that send neither header are not browsers.
 * A server on another address that is not told its names refuses nothing.
 */
export function foreignRequest(
  { headers: { host, origin } }: Pick<IncomingMessage, 'headers'>,
  names: { readonly listenHost: string; readonly allowedHosts?: readonly string[] },
): string | undefined {
  const { listenHost, allowedHosts = [] } = names
  if (names.allowedHosts === undefined && !isLoopback(listenHost)) return undefined
  const isOwn = (name: string) =>
    name === listenHost.toLowerCase() ||
    allowedHosts.includes(name) ||
    (isLoopback(listenHost) && isLoopback(name))
  if (host !== undefined && !isOwn(nameOf(`http://${host}`) ?? '')) {
    return 'the Host header names a host that is not allowed'
  }
  if (origin === undefined) return undefined
  const page = URL.parse(origin)
  const isSame = page !== null && page.host === URL.parse(`${page.protocol}//${host}`)?.host
  const isAllowed = allowedHosts.includes(nameOf(origin) ?? '')
  return isSame || isAllowed ? undefined : 'the Origin header names a page of another origin'
}

/**
 * Returns the host of a URL, without brackets and without the dot at its end. URL parsing also writes an address in its
 * usual form: `http://127.1` and `http://0x7f.1` are 127.0.0.1.
 */
function nameOf(url: string): string | undefined {
  return URL.parse(url)
    ?.hostname.replace(/^\[|\]$/g, '')
    .replace(/\.$/, '')
}
