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

/**
 * Says why a server of pages and of their API must refuse a request, or returns `undefined`. It knows the names by
 * which it is reached: `listenHost`, every name of loopback where that is one, and `allowedHosts`. A request for
 * another host, or from a page of another origin, is foreign. A proxy may have replaced `Host`, so a page of an allowed
 * host is not foreign either.
 */
export function foreignToPages(
  { headers: { host = '', origin } }: Pick<IncomingMessage, 'headers'>,
  names: { readonly listenHost: string; readonly allowedHosts: readonly string[] },
): string | undefined {
  const isOwn = (name: string) =>
    name === names.listenHost.toLowerCase() ||
    names.allowedHosts.includes(name) ||
    (isLoopback(names.listenHost) && isLoopback(name))
  const name = nameOf(`http://${host}`)
  if (name === undefined || !isOwn(name)) return 'the Host header names a host that is not allowed'
  if (origin === undefined) return undefined
  const page = URL.parse(origin)
  const isSame = page !== null && page.host === URL.parse(`${page.protocol}//${host}`)?.host
  const isAllowed = names.allowedHosts.includes(nameOf(origin) ?? '')
  return isSame || isAllowed ? undefined : 'the Origin header names a page of another origin'
}

function isLoopbackUrl(text: string): boolean {
  const name = nameOf(text)
  return name !== undefined && isLoopback(name)
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
