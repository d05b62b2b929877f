import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { text } from 'node:stream/consumers'

/** Each host is a network namespace with one link to a common bridge. */
export const hosts = [
  'api1',
  'api2',
  'worker1',
  'worker2',
  'pg1',
  'pg2',
  'pgbouncer',
  'temporal',
  's3',
  'upstream',
  'clients',
  // Passes the bytes of connections on after a while: see `detour.ts`.
  'detour',
] as const
export type Host = (typeof hosts)[number]

/** The port at which a host serves the others. */
export const portOf: Readonly<Record<Host, number>> = {
  api1: 8080,
  api2: 8080,
  worker1: 9465,
  worker2: 9465,
  pg1: 5432,
  pg2: 5432,
  pgbouncer: 6432,
  temporal: 7233,
  s3: 7070,
  upstream: 8090,
  clients: 9000,
  detour: 0,
}
/** The port of the detour that leads to a host. */
export function detourPortTo(host: Host): number {
  return 20_000 + hosts.indexOf(host)
}

export const hostsRange = '10.47.0.0/24'

export function addressOf(host: Host): string {
  return `10.47.0.${11 + hosts.indexOf(host)}`
}

/** HOST:PORT of what a host serves. */
export function serverOf(host: Host): string {
  return `${addressOf(host)}:${portOf[host]}`
}

/** Leads each host to the PostgreSQL that it takes for the primary, as the address of a cluster does. */
export const primaryAddress = '10.47.0.10'

/** What is wrong on the way from one host to another. */
export type Trouble =
  /** `to` gets nothing that `from` sends. */
  | { readonly kind: 'cut'; readonly from: Host; readonly to: Host }
  | { readonly kind: 'loss'; readonly from: Host; readonly to: Host; readonly percent: number }
  /** The connections that `from` opens to `to` break, and the next ones take the detour. */
  | { readonly kind: 'detour'; readonly from: Host; readonly to: Host }
  /** The link of a host carries little. */
  | { readonly kind: 'slow'; readonly host: Host; readonly kilobits: number }

export type Network = Awaited<ReturnType<typeof openNetwork>>

/** Words that begin the command line of what runs on a host. */
export function onHost(host: Host): readonly string[] {
  return ['nsenter', `--net=/run/netns/${host}`]
}

/** Makes the hosts. They are gone when the mount namespace of this process is. */
export async function openNetwork() {
  mkdirSync('/run/netns', { recursive: true })
  await run(['mount', '-t', 'tmpfs', 'none', '/run/netns'])
  await run(
    ['ip', '-batch', '-'],
    [
      'link set lo up',
      'link add br0 type bridge',
      'addr add 10.47.0.1/24 dev br0',
      'link set br0 up',
    ],
  )
  for (const host of hosts) {
    await run(['ip', 'netns', 'add', host])
    await run(
      ['ip', '-batch', '-'],
      [`link add ${host} type veth peer name eth0 netns ${host}`, `link set ${host} master br0 up`],
    )
    await run(
      ['ip', '-netns', host, '-batch', '-'],
      ['link set lo up', `addr add ${addressOf(host)}/24 dev eth0`, 'link set eth0 up'],
    )
  }
  const troubles = new Set<Trouble>()
  /** The primary as each host knows it. */
  const primaries = new Map<Host, Host>(hosts.map((host) => [host, 'pg1']))
  let last: Promise<unknown> = Promise.resolve()

  const writeNow = async (changed: Iterable<Host>) => {
    for (const host of changed) {
      const rules = rulesOf(host, troubles, primaries.get(host) ?? 'pg1')
      await run([...onHost(host), 'nft', '-f', '-'], rules)
    }
  }
  /** Writes the rules of some hosts, one call after the other. */
  const write = (changed: Iterable<Host>) => {
    const next = last.then(() => writeNow(new Set(changed)))
    last = next.catch(() => {})
    return next
  }
  await write(hosts)

  return {
    /** Makes trouble. Returns what ends it. */
    trouble: async (...added: readonly Trouble[]): Promise<() => Promise<void>> => {
      const change = async (begins: boolean) => {
        for (const each of added) {
          if (begins) troubles.add(each)
          else troubles.delete(each)
          if (each.kind === 'slow') await shape(each, begins)
        }
        await write(added.flatMap((each) => (each.kind === 'slow' ? [] : [each.from, each.to])))
      }
      await change(true)
      return () => change(false)
    },
    /** Leads new connections of some hosts to another primary. */
    lead: async (primary: Host, followers: readonly Host[]): Promise<void> => {
      for (const host of followers) primaries.set(host, primary)
      await write(followers)
    },
  }
}

function rulesOf(host: Host, troubles: ReadonlySet<Trouble>, primary: Host): readonly string[] {
  const drops: string[] = []
  // What has taken a detour that is over breaks too.
  const breaks: string[] = []
  const ways = [`${primaryAddress} . 5432 : ${addressOf(primary)} . 5432`]
  const detoured: number[] = []
  for (const trouble of troubles) {
    switch (trouble.kind) {
      case 'cut':
        if (trouble.to === host) drops.push(`ip saddr ${addressOf(trouble.from)} drop`)
        break
      case 'loss':
        if (trouble.to === host) {
          drops.push(
            `ip saddr ${addressOf(trouble.from)} numgen random mod 100 < ${trouble.percent} drop`,
          )
        }
        break
      case 'detour': {
        const { from, to } = trouble
        if (from !== host) break
        const at = `${addressOf('detour')} . ${detourPortTo(to)}`
        breaks.push(`ip daddr ${addressOf(to)} tcp dport ${portOf[to]} reject with tcp reset`)
        detoured.push(detourPortTo(to))
        ways.push(`${addressOf(to)} . ${portOf[to]} : ${at}`)
        if (to === primary) ways[0] = `${primaryAddress} . 5432 : ${at}`
        break
      }
      case 'slow':
        break
      default:
        throw new Error(trouble satisfies never)
    }
  }
  const over = hosts.map(detourPortTo).filter((port) => !detoured.includes(port))
  return [
    'table ip ways {',
    'map ways { type ipv4_addr . inet_service : ipv4_addr . inet_service; }',
    'chain out { type nat hook output priority -100; }',
    '}',
    'flush table ip ways',
    'flush map ip ways ways',
    `add element ip ways ways { ${ways.join(', ')} }`,
    'add rule ip ways out dnat ip to ip daddr . tcp dport map @ways',
    'table ip troubles {',
    // Before the address of the primary is written back into what it sends.
    'chain in { type filter hook prerouting priority raw; }',
    'chain out { type filter hook output priority 0; }',
    '}',
    'flush table ip troubles',
    ...drops.map((rule) => `add rule ip troubles in ${rule}`),
    ...[
      ...breaks,
      `ip daddr ${addressOf('detour')} tcp dport { ${over.join(', ')} } reject with tcp reset`,
    ].map((rule) => `add rule ip troubles out ${rule}`),
  ]
}

/** Both ends of a link. The queue holds half a second. */
async function shape(
  { host, kilobits }: Trouble & { readonly kind: 'slow' },
  begins: boolean,
): Promise<void> {
  const what = begins
    ? ['replace', ...`root tbf rate ${kilobits}kbit burst 16kb latency 500ms`.split(' ')]
    : ['del', 'root']
  const [verb = '', ...rest] = what
  await run(['tc', 'qdisc', verb, 'dev', host, ...rest])
  await run(['tc', '-netns', host, 'qdisc', verb, 'dev', 'eth0', ...rest])
}

/** Runs a program with some lines as its input. Throws with what it says when it fails. */
async function run(
  [file = '', ...args]: readonly string[],
  lines: readonly string[] = [],
): Promise<void> {
  const child = spawn(file, args, { stdio: ['pipe', 'ignore', 'pipe'] })
  child.stdin.on('error', () => {})
  child.stdin.end(`${lines.join('\n')}\n`)
  const [said, [code]] = await Promise.all([text(child.stderr), once(child, 'close')])
  if (code !== 0) throw new Error(`${file} ${args.join(' ')}: ${said}\n${lines.join('\n')}`)
}
