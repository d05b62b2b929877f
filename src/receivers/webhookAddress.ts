import { BlockList, isIP } from 'node:net'
import { webhookUrlLengthMax } from '../domain/webhooks/webhook.ts'

/** Whether webhooks may reach private and loopback addresses, and use `http`. */
export type WebhookPrivate = 'allow' | 'refuse'

/**
 * Makes a list of networks. An IPv4 network also stands for the IPv6 addresses that lead to it: `BlockList` knows
 * those of the form `::ffff:a.b.c.d`, and the prefix of NAT64 is added here (RFC 6052 section 2.1).
 */
function networks(...ranges: readonly string[]): BlockList {
  const list = new BlockList()
  for (const range of ranges) {
    const [network = '', length] = range.split('/')
    const bits = Number(length)
    if (isIP(network) === 6) list.addSubnet(network, bits, 'ipv6')
    else {
      list.addSubnet(network, bits, 'ipv4')
      list.addSubnet(`64:ff9b::${network}`, 96 + bits, 'ipv6')
    }
  }
  return list
}

/**
 * What routers of the Internet pass on. Of IPv6 that is one block (RFC 4291 section 2.4). The addresses outside it that
 * contain an IPv4 address (`::127.0.0.1`, `::ffff:0:127.0.0.1`, `64:ff9b:1::`) are in no list, so they are refused.
 */
const routed = networks('0.0.0.0/0', '2000::/3')

/** This machine, and networks that are not reachable from the Internet. Source: IANA's registries. */
const privateNetworks = networks(
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '::/128',
  '::1/128',
  'fc00::/7',
)

/** What webhooks never reach. */
const forbiddenNetworks = networks(
  // Link-local, with the metadata services of most clouds, which give out credentials.
  '169.254.0.0/16',
  // Metadata services of Azure, Alibaba and Oracle, then those of AWS, Google, Oracle and Scaleway.
  '168.63.129.16/32',
  '100.100.100.200/32',
  '192.0.0.192/32',
  'fd00:ec2::/32',
  'fd20:ce::254/128',
  'fd00:c1::/32',
  'fd00:42::/32',
  // Multicast, reserved, and broadcast.
  '224.0.0.0/4',
  '240.0.0.0/4',
  // Special purposes within the routed block: IETF protocols with Teredo, documentation, 6to4, documentation.
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  '3fff::/20',
)

/** Returns whether webhooks may connect to an IP address. Text that is no address is refused. */
export function isAllowed(address: string, webhookPrivate: WebhookPrivate): boolean {
  const version = isIP(address)
  // A zone such as `%eth0` exists on link-local addresses only.
  if (version === 0 || address.includes('%')) return false
  const isIn = (list: BlockList) => list.check(address, version === 6 ? 'ipv6' : 'ipv4')
  if (isIn(forbiddenNetworks)) return false
  return isIn(privateNetworks) ? webhookPrivate === 'allow' : isIn(routed)
}

/**
 * Returns the host of a webhook's address, without the brackets of an IPv6 address. The URL parser has turned
 * every notation of an IPv4 address, such as `0x7f.1` and `2130706433`, into the usual one.
 */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '')
}

/**
 * Returns why a text cannot be the address of a webhook, or `undefined` when nothing can be seen against it. What
 * a name resolves to is checked at every try.
 */
export function whyNotAddress(text: string, webhookPrivate: WebhookPrivate): string | undefined {
  if (text.length > webhookUrlLengthMax)
    return `it is longer than ${webhookUrlLengthMax} characters`
  // The URL parser would skip some of these characters.
  if (/[\s\p{Cc}\\]/u.test(text))
    return 'it must not contain spaces, backslashes or control characters'
  const url = URL.parse(text)
  if (url === null) return 'it is not a URL'
  if (url.protocol === 'http:' && webhookPrivate === 'refuse') return 'it must begin with https://'
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'it must begin with https://'
  // The URL parser drops the mark of an empty user.
  if (/^\w+:\/*[^/?#]*@/.test(text)) return 'it must not contain a user or a password'
  const host = hostOf(url)
  const isRefused =
    isIP(host) === 0
      ? webhookPrivate === 'refuse' && /(^|\.)localhost\.?$/.test(host)
      : !isAllowed(host, webhookPrivate)
  return isRefused ? 'webhooks may not reach this address' : undefined
}
