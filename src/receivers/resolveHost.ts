import { Resolver } from 'node:dns/promises'
import { readFile } from 'node:fs/promises'
import { isIP } from 'node:net'

/** Returns the IP addresses of a name. Returns none when the name has none, or when the look-up fails. */
export type ResolveHost = (name: string) => Promise<readonly string[]>

const hostsFile = '/etc/hosts'
const queryTimeoutMs = 3_000

/**
 * Creates the function that looks names up in the hosts file and in DNS. It does not use `dns.lookup`: that
 * occupies one of few threads, which file access needs too, and a name server that does not answer could hold all
 * of them. Unlike `dns.lookup` it does not add the system's search domains to a short name.
 */
export function createResolveHost(): ResolveHost {
  const resolver = new Resolver({ timeout: queryTimeoutMs, tries: 2 })
  return async (name) => {
    const known = await fromHostsFile(name)
    if (known.length > 0) return known
    const found = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)])
    return found.flatMap((each) => (each.status === 'fulfilled' ? each.value : []))
  }
}

async function fromHostsFile(name: string): Promise<readonly string[]> {
  const text = await readFile(hostsFile, 'utf8').catch(() => '')
  const wanted = name.toLowerCase().replace(/\.$/, '')
  return text.split('\n').flatMap((line) => {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/)
    const isWanted = names.some((each) => each.toLowerCase() === wanted)
    return isWanted && isIP(address) !== 0 ? [address] : []
  })
}
