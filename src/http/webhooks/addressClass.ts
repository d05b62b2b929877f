import { BlockList, isIP } from 'node:net'

/**
 * Where an address leads. `never`: link-local addresses and the metadata services of clouds, which give out
 * credentials, and addresses that no connection can have. `private`: this machine and networks that are not
 * reachable from the Internet.
 */
export type AddressClass = 'public' | 'private' | 'never'

/**
 * Classifies an IP address, as text in the usual notation. An IPv6 address that contains an IPv4 address, such as
 * `::ffff:127.0.0.1`, is at least as restricted as that. Text that is no address is `never`.
 *
 * Sources: the IANA registries of special-purpose addresses for IPv4 and IPv6, and the documentation of AWS,
 * Azure, Google, Alibaba, Oracle and Scaleway for their metadata services.
 */
export function addressClass(address: string): AddressClass {
  switch (isIP(address)) {
    case 4:
      return v4Class(address)
    case 6:
      return v6Class(address)
    default:
      return 'never'
  }
}

const neverV4 = rangesOf('ipv4', [
  // Link-local, with the metadata services of most clouds.
  '169.254.0.0/16',
  // Metadata services of Azure, Alibaba and Oracle.
  '168.63.129.16/32',
  '100.100.100.200/32',
  '192.0.0.192/32',
  // Multicast, reserved, and broadcast.
  '224.0.0.0/4',
  '240.0.0.0/4',
])
const privateV4 = rangesOf('ipv4', [
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
])
const neverV6 = rangesOf('ipv6', [
  'fe80::/10',
  // Metadata services of AWS, Google, Oracle and Scaleway.
  'fd00:ec2::/32',
  'fd20:ce::254/128',
  'fd00:c1::/32',
  'fd00:42::/32',
  // Such an address can contain an IPv4 address at any position (RFC 8215), so it can lead to a metadata service.
  '64:ff9b:1::/48',
  'ff00::/8',
])
/** Only these addresses are routed on the Internet. The second range leads to IPv4 addresses (RFC 6052). */
const globalV6 = rangesOf('ipv6', ['2000::/3', '64:ff9b::/96'])
/** Special purposes within the global range: IETF protocols, among them Teredo, documentation, and 6to4. */
const privateV6 = rangesOf('ipv6', ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'])

function rangesOf(family: 'ipv4' | 'ipv6', ranges: readonly string[]): BlockList {
  const list = new BlockList()
  for (const range of ranges) {
    const [network = '', prefix] = range.split('/')
    list.addSubnet(network, Number(prefix), family)
  }
  return list
}

function v4Class(address: string): AddressClass {
  if (neverV4.check(address, 'ipv4')) return 'never'
  return privateV4.check(address, 'ipv4') ? 'private' : 'public'
}

function v6Class(address: string): AddressClass {
  // A zone such as `%eth0` exists on link-local addresses only.
  if (address.includes('%')) return 'never'
  const groups = groupsOf(address)
  const mapped = isMapped(groups)
  const own = mapped ? 'public' : ownV6Class(address)
  return worst([own, ...embeddedV4(groups, mapped).map(v4Class)])
}

function ownV6Class(address: string): AddressClass {
  if (neverV6.check(address, 'ipv6')) return 'never'
  const isGlobal = globalV6.check(address, 'ipv6') && !privateV6.check(address, 'ipv6')
  return isGlobal ? 'public' : 'private'
}

function worst(classes: readonly AddressClass[]): AddressClass {
  if (classes.includes('never')) return 'never'
  return classes.includes('private') ? 'private' : 'public'
}

/** Returns the eight numbers of an IPv6 address. */
function groupsOf(address: string): readonly number[] {
  // The URL parser turns every notation into hexadecimal groups with at most one `::`.
  const { hostname } = new URL(`http://[${address}]`)
  const [head = '', tail] = hostname.slice(1, -1).split('::')
  const numbers = (text: string) =>
    text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16))
  if (tail === undefined) return numbers(head)
  const [left, right] = [numbers(head), numbers(tail)]
  return [...left, ...Array<number>(8 - left.length - right.length).fill(0), ...right]
}

/** Whether an address is an IPv4 address in the form `::ffff:a.b.c.d`. */
function isMapped(groups: readonly number[]): boolean {
  return groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff
}

/**
 * Returns the IPv4 addresses that an IPv6 address contains. A mapped, compatible, translated or ISATAP address has
 * one in its last two groups. A 6to4 address has one after its prefix. A Teredo address has that of its server after
 * its prefix, and that of its client, with every bit inverted, in its last two groups.
 */
function embeddedV4(groups: readonly number[], mapped: boolean): readonly string[] {
  const at = (index: number, invert = 0) =>
    v4Text((groups[index] ?? 0) ^ invert, (groups[index + 1] ?? 0) ^ invert)
  const [first, second, third, fourth, fifth = 0, sixth] = groups
  const low = [first, second, third, fourth].every((group) => group === 0)
  const isNat64 = first === 0x64 && second === 0xff9b
  const isIsatap = (fifth & 0xfdff) === 0 && sixth === 0x5efe
  if (mapped || isNat64 || isIsatap) return [at(6)]
  if (low && (fifth === 0 || fifth === 0xffff) && sixth === 0) return [at(6)]
  if (first === 0x2002) return [at(1)]
  if (first === 0x2001 && second === 0) return [at(2), at(6, 0xffff)]
  return []
}

function v4Text(high: number, low: number): string {
  return [high >> 8, high & 0xff, low >> 8, low & 0xff].join('.')
}
