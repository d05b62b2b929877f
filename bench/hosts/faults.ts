import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Seeded } from '../../test/support/seeded.ts'
import { createSeeded } from '../../test/support/seeded.ts'
import type { Entry } from './history.ts'
import type { Installation } from './installation.ts'
import type { Host, Trouble } from './network.ts'
import { emptyDisk, fillDisk } from './disks.ts'
import { canLimitMemory, canMoveClocks, setClock, signalHost, squeeze } from './parts.ts'

/** A part by its name or, of PostgreSQL, by what it is when the fault strikes. */
type Place = Host | 'primary' | 'standby'
type Strike = (world: Struck) => Promise<void>
type Struck = {
  readonly installation: Installation
  readonly parts: readonly Host[]
  readonly ms: number
  readonly chance: Seeded
}

/** A kind of fault. A partial one leaves a part half reachable, slow or wrong, and kills nothing. */
type Kind = {
  readonly name: string
  readonly partial: boolean
  readonly of: 'network' | 'clocks' | 'disks' | 'memory' | 'processes' | 'failover'
  readonly places: (chance: Seeded) => readonly Place[]
  readonly seconds: readonly [least: number, most: number]
  readonly strike: Strike
}

const [apis, workers] = [
  ['api1', 'api2'],
  ['worker1', 'worker2'],
] as const
const services = [...apis, ...workers] as const
/** Who opens connections to whom. */
const links: readonly (readonly [from: Place, to: Place])[] = [
  ...apis.map((api) => ['clients', api] as const),
  ...services.flatMap((from) =>
    (['pgbouncer', 'primary', 'temporal', 's3'] as const).map((to) => [from, to] as const),
  ),
  ...workers.flatMap((from) => (['upstream', 'clients'] as const).map((to) => [from, to] as const)),
  ['pgbouncer', 'primary'],
  ['temporal', 'primary'],
  ['standby', 'primary'],
]
const anyLink = (chance: Seeded) => chance.pick(links)
const any =
  (...places: readonly Place[]) =>
  (chance: Seeded) => [chance.pick(places)]
const pulse = { stopsMs: [1_500, 4_000], goesMs: 300 } as const

/** Makes trouble on the way between two parts for the time of the fault. */
const onLink =
  (troubles: (from: Host, to: Host) => readonly Trouble[]): Strike =>
  async ({ installation, parts: [from, to], ms }) => {
    if (from === undefined || to === undefined) return
    const heal = await installation.network.trouble(...troubles(from, to))
    await sleep(ms)
    await heal()
  }

const bothWays = (from: Host, to: Host): readonly Trouble[] => [
  { kind: 'cut', from, to },
  { kind: 'cut', from: to, to: from },
]

/** Stops what is on a host again and again, so that it answers after seconds. */
const halting =
  (only: string): Strike =>
  async ({ parts: [host], ms, chance }) => {
    if (host === undefined) return
    for (
      const endsAtMs = performance.now() + ms;
      performance.now() < endsAtMs;
      await sleep(pulse.goesMs)
    ) {
      signalHost(host, 'SIGSTOP', only)
      await sleep(chance.between(...pulse.stopsMs))
      signalHost(host, 'SIGCONT', only)
    }
  }

const signalled =
  (name: NodeJS.Signals): Strike =>
  async ({ parts: [host], ms }) => {
    if (host !== undefined) signalHost(host, name)
    if (name === 'SIGSTOP') await sleep(ms)
    if (name === 'SIGSTOP' && host !== undefined) signalHost(host, 'SIGCONT')
  }

const failingOver =
  (how: Parameters<Installation['databases']['failOver']>[0]): Strike =>
  ({ installation, ms }) =>
    installation.databases.failOver(how, ms)

const moving =
  (steps: (chance: Seeded) => readonly number[]): Strike =>
  async ({ installation: { folder }, parts: [host], ms, chance }) => {
    if (host === undefined) return
    const offs = steps(chance)
    for (const seconds of offs) {
      setClock(host, folder, seconds)
      await sleep(ms / offs.length)
    }
    setClock(host, folder, 0)
  }

const clocked = any(...services, 'pgbouncer')
const kinds: readonly Kind[] = [
  {
    name: 'cut',
    of: 'network',
    partial: true,
    places: anyLink,
    seconds: [1, 60],
    strike: onLink(bothWays),
  },
  {
    name: 'cut one way',
    of: 'network',
    partial: true,
    places: (chance) => (chance.chance(0.5) ? anyLink(chance) : anyLink(chance).toReversed()),
    seconds: [1, 60],
    strike: onLink((from, to) => [{ kind: 'cut', from, to }]),
  },
  {
    name: '300 ms delay',
    of: 'network',
    partial: true,
    places: anyLink,
    seconds: [5, 40],
    strike: onLink((from, to) => [{ kind: 'detour', from, to }]),
  },
  {
    name: '5 % loss',
    of: 'network',
    partial: true,
    places: anyLink,
    seconds: [5, 60],
    strike: onLink((from, to) => [
      { kind: 'loss', from, to, percent: 5 },
      { kind: 'loss', from: to, to: from, percent: 5 },
    ]),
  },
  {
    name: 'slow link',
    of: 'network',
    partial: true,
    places: any(...services, 'primary', 's3', 'temporal'),
    seconds: [5, 40],
    strike: async ({ installation, parts: [host], ms, chance }) => {
      if (host === undefined) return
      const heal = await installation.network.trouble({
        kind: 'slow',
        host,
        kilobits: chance.between(128, 1_024),
      })
      await sleep(ms)
      await heal()
    },
  },
  {
    name: 'worker without PostgreSQL',
    of: 'network',
    partial: true,
    places: (chance) => [chance.pick(workers), 'pgbouncer', 'primary'],
    seconds: [17, 40],
    strike: async ({ installation, parts: [worker, ...others], ms }) => {
      if (worker === undefined) return
      const heal = await installation.network.trouble(
        ...others.flatMap((other) => bothWays(worker, other)),
      )
      await sleep(ms)
      await heal()
    },
  },
  {
    name: 'clock off by 5 s',
    of: 'clocks',
    partial: true,
    places: clocked,
    seconds: [10, 60],
    strike: moving((chance) => [chance.pick([-5, 5])]),
  },
  {
    name: 'clock off by 1 h',
    of: 'clocks',
    partial: true,
    places: clocked,
    seconds: [10, 60],
    strike: moving((chance) => [chance.pick([-3_600, 3_600])]),
  },
  {
    name: 'jumping clock',
    of: 'clocks',
    partial: true,
    places: clocked,
    seconds: [10, 60],
    strike: moving((chance) => Array.from({ length: 8 }, () => chance.between(-3_600, 3_600))),
  },
  {
    name: 'slow blob store',
    of: 'disks',
    partial: true,
    places: any('s3'),
    seconds: [5, 40],
    strike: halting(''),
  },
  // A commit waits for the write of the standby as it waits for the disk.
  {
    name: 'slow disk of PostgreSQL',
    of: 'disks',
    partial: true,
    places: any('standby'),
    seconds: [5, 30],
    strike: halting('walreceiver'),
  },
  {
    name: 'full disk',
    of: 'disks',
    partial: true,
    places: any('primary', 's3', 's3'),
    seconds: [5, 20],
    strike: async ({ installation: { folder }, parts: [host = 's3'], ms }) => {
      const disk = join(folder, host)
      await fillDisk(disk)
      await sleep(ms)
      emptyDisk(disk)
    },
  },
  {
    name: 'memory limit',
    of: 'memory',
    partial: false,
    places: any(...workers),
    seconds: [5, 20],
    strike: async ({ installation: { folder }, parts: [host = 'worker1'], ms }) =>
      squeeze(host, folder, ms),
  },
  {
    name: 'kill -9',
    of: 'processes',
    partial: false,
    places: any(...services, ...services, 'primary', 'standby', 'temporal', 's3', 'pgbouncer'),
    seconds: [0, 0],
    strike: signalled('SIGKILL'),
  },
  {
    name: 'kill -9 while it stores',
    of: 'processes',
    partial: false,
    places: (chance) => [chance.pick(workers)],
    seconds: [3, 6],
    strike: async ({ parts: [worker], ms }) => {
      signalHost('s3', 'SIGSTOP')
      await sleep(ms)
      if (worker !== undefined) signalHost(worker, 'SIGKILL')
      signalHost('s3', 'SIGCONT')
    },
  },
  {
    name: 'SIGSTOP',
    of: 'processes',
    partial: true,
    places: any(...services, ...services, 'primary', 'standby', 'temporal', 's3', 'pgbouncer'),
    seconds: [1, 30],
    strike: signalled('SIGSTOP'),
  },
  {
    name: 'SIGTERM',
    of: 'processes',
    partial: false,
    places: any(...services),
    seconds: [0, 0],
    strike: signalled('SIGTERM'),
  },
  {
    name: 'failover: killed',
    of: 'failover',
    partial: false,
    places: any('primary'),
    seconds: [0, 0],
    strike: failingOver('killed'),
  },
  {
    name: 'failover: the old one returns',
    of: 'failover',
    partial: false,
    places: any('primary'),
    seconds: [5, 20],
    strike: failingOver('returned'),
  },
  {
    name: 'failover: two primaries',
    of: 'failover',
    partial: true,
    places: any('primary'),
    seconds: [5, 20],
    strike: failingOver('alone'),
  },
]

export const faultGroups = [...new Set(kinds.map((kind) => kind.of))]

type Planned = {
  readonly atMs: number
  readonly ms: number
  readonly kind: Kind
  readonly places: readonly Place[]
  readonly seed: number
}

/** Chooses what strikes when. The same seed chooses the same. */
export function planFaults(
  seed: number,
  seconds: number,
  groups: readonly string[],
  pauseMs: number,
): readonly Planned[] {
  const chance = createSeeded(seed)
  const chosen = kinds.filter(({ of }) => groups.includes(of))
  const planned: Planned[] = []
  for (
    let atMs = 1_000;
    chosen.length > 0 && atMs < seconds * 1000;
    atMs += chance.between(0, pauseMs)
  ) {
    const kind = chance.pick(chosen)
    const [least, most] = kind.seconds
    planned.push({
      atMs,
      ms: 1000 * Math.min(chance.between(least, most), seconds / 4),
      kind,
      places: kind.places(chance),
      seed: chance.between(1, 1e9),
    })
  }
  return planned
}

/** Lets the faults strike, several at once. Resolves when all are over. One failover comes after the other. */
export async function strike(
  planned: readonly Planned[],
  installation: Installation,
  add: (entry: Entry) => void,
): Promise<void> {
  const { databases } = installation
  const startedAtMs = performance.now()
  let failover = Promise.resolve()
  const all = planned.map(async ({ atMs, ms, kind, places, seed }) => {
    await sleep(startedAtMs + atMs - performance.now())
    if (kind.of === 'clocks' && !canMoveClocks) return
    if (kind.of === 'memory' && !canLimitMemory(installation.folder)) return
    const parts = places.map((place) =>
      place === 'primary' || place === 'standby' ? databases[place]() : place,
    )
    const from = Date.now()
    const work = () => kind.strike({ installation, parts, ms, chance: createSeeded(seed) })
    await (kind.of === 'failover' ? (failover = failover.then(work)) : work())
    add({ type: 'fault', from, at: Date.now(), kind: kind.name, parts })
  })
  await Promise.all(all)
}
