import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Seeded } from '../../test/support/seeded.ts'
import { createSeeded } from '../../test/support/seeded.ts'
import { createSimulatorClient } from '../../test/support/simulatorClient.ts'
import { emptyDisk, fillDisk } from './disks.ts'
import type { Entry } from './history.ts'
import type { Installation } from './installation.ts'
import type { Host, Trouble } from './network.ts'
import { addressOf, serverOf } from './network.ts'
import { canLimitMemory, canMoveClocks, setClock, signalHost, squeeze } from './parts.ts'

/** A part by its name or, of PostgreSQL, by what it is when the fault strikes. */
type Place = Host | 'primary' | 'standby'
type Places = (chance: Seeded) => readonly Place[]

/** Resolves when the fault is over. `at` are the places, and `ms` is how long it lasts. */
type Strike = (given: {
  readonly installation: Installation
  readonly at: readonly Host[]
  readonly ms: number
  readonly chance: Seeded
}) => Promise<unknown>

type Kind = ReturnType<typeof fault>
type Seconds = readonly [least: number, most: number]

export const faultGroups = [
  'network',
  'clocks',
  'disks',
  'memory',
  'processes',
  'failover',
] as const
type Group = (typeof faultGroups)[number]

/** A kind of fault. A partial one leaves a part half reachable, slow or wrong, and ends no process. */
function fault(of: Group, name: string, places: Places, seconds: Seconds, strike: Strike) {
  const partial = !/^(?:kill|SIGTERM|memory|failover: (?:killed|the))/.test(name)
  return { of, name, places, seconds, strike, partial }
}

const [apis, workers] = [
  ['api1', 'api2'],
  ['worker1', 'worker2'],
] as const
const services = [...apis, ...workers] as const
const servers = ['primary', 'standby', 'temporal', 's3', 'pgbouncer'] as const
/** Who opens connections to whom. */
const links: readonly (readonly [from: Place, to: Place])[] = [
  ...apis.map((api) => ['clients', api] as const),
  ...services.flatMap((from) =>
    servers.filter((to) => to !== 'standby').map((to) => [from, to] as const),
  ),
  ...workers.flatMap(
    (from) =>
      [
        [from, 'upstream'],
        [from, 'clients'],
      ] as const,
  ),
  ['pgbouncer', 'primary'],
  ['temporal', 'primary'],
  ['standby', 'primary'],
]
const anyLink: Places = (chance) => chance.pick(links)
const anyWay: Places = (chance) =>
  chance.chance(0.5) ? anyLink(chance) : anyLink(chance).toReversed()
const any =
  (...places: readonly Place[]): Places =>
  (chance) => [chance.pick(places)]
const anyProcess = any(...services, ...services, ...servers)
const anyHost = any(...services, 'primary', 's3', 'temporal')
const anyClock = any(...services, 'pgbouncer')
const fromReceivers: Places = (chance) => ['clients', chance.pick(workers)]
const withoutDatabase: Places = (chance) => [chance.pick(workers), 'pgbouncer', 'primary']

/** Makes trouble between the first place and each other one. */
const between =
  (troubles: (from: Host, to: Host, chance: Seeded) => readonly Trouble[]): Strike =>
  async ({ installation, at: [from, ...others], ms, chance }) => {
    if (from === undefined) return
    const to = others.length > 0 ? others : [from]
    const heal = await installation.network.trouble(
      ...to.flatMap((each) => troubles(from, each, chance)),
    )
    await sleep(ms)
    await heal()
  }
const cut = (from: Host, to: Host): readonly Trouble[] => [{ kind: 'cut', from, to }]
const detour = (from: Host, to: Host): readonly Trouble[] => [{ kind: 'detour', from, to }]
const narrow = (host: Host, _: Host, chance: Seeded): readonly Trouble[] => [
  { kind: 'slow', host, kilobits: chance.between(128, 1_024) },
]
const cutBoth = (from: Host, to: Host) => [...cut(from, to), ...cut(to, from)]
const loseBoth = (a: Host, b: Host): readonly Trouble[] => [
  { kind: 'loss', from: a, to: b, percent: 5 },
  { kind: 'loss', from: b, to: a, percent: 5 },
]

/** Stops what is on a host again and again, so that it answers after seconds. */
const halt =
  (only: string): Strike =>
  async ({ at: [host = 's3'], ms, chance }) => {
    for (const endsAtMs = performance.now() + ms; performance.now() < endsAtMs; await sleep(300)) {
      signalHost(host, 'SIGSTOP', only)
      await sleep(chance.between(1_500, 4_000))
      signalHost(host, 'SIGCONT', only)
    }
  }

const signal =
  (name: NodeJS.Signals): Strike =>
  async ({ at: [host = 'api1'], ms }) => {
    signalHost(host, name)
    await sleep(ms)
    if (name === 'SIGSTOP') signalHost(host, 'SIGCONT')
  }

/** Another worker needs about a minute to call in the place of one that stopped, so a call of 80 s still lives then. */
const [freshMsMax, freshWaitMsMax] = [15_000, 45_000]

/** Stops a worker that has begun a call of 80 s, so that another one calls again while the first call lives. */
const stopWhileCalling: Strike = async (given) => {
  const upstream = createSimulatorClient(`http://${serverOf('upstream')}`)
  const client = addressOf(given.at[0] ?? 'worker1')
  const hasBegun = async () => {
    const calls = await upstream.calls({ prompt: 'delay ms=80000' }).catch(() => [])
    return calls.some(
      (call) =>
        call.client === client && call.endedAt === null && Date.now() - call.at < freshMsMax,
    )
  }
  const endsAtMs = performance.now() + freshWaitMsMax
  while (performance.now() < endsAtMs && !(await hasBegun())) await sleep(500)
  await signal('SIGSTOP')(given)
}

const killWhileStoring: Strike = async ({ at: [worker = 'worker1'], ms }) => {
  signalHost('s3', 'SIGSTOP')
  await sleep(ms)
  signalHost(worker, 'SIGKILL')
  signalHost('s3', 'SIGCONT')
}

const move =
  (steps: (chance: Seeded) => readonly number[]): Strike =>
  async ({ installation: { folder }, at: [host = 'api1'], ms, chance }) => {
    const offs = steps(chance)
    for (const seconds of offs) {
      setClock(host, folder, seconds)
      await sleep(ms / offs.length)
    }
    setClock(host, folder, 0)
  }
const offBy = (seconds: number) => move((chance) => [chance.pick([-seconds, seconds])])
const jumps = (chance: Seeded) => Array.from({ length: 8 }, () => chance.between(-3_600, 3_600))

const fill: Strike = async ({ installation: { folder }, at: [host = 's3'], ms }) => {
  await fillDisk(join(folder, host))
  await sleep(ms)
  emptyDisk(join(folder, host))
}

const limitMemory: Strike = ({ installation: { folder }, at: [host = 'worker1'], ms }) =>
  squeeze(host, folder, ms)

const failOver =
  (how: Parameters<Installation['databases']['failOver']>[0]): Strike =>
  ({ installation, ms }) =>
    installation.databases.failOver(how, ms)

const kinds: readonly Kind[] = [
  fault('network', 'cut', anyLink, [1, 60], between(cutBoth)),
  fault('network', 'cut one way', anyWay, [1, 60], between(cut)),
  fault('network', 'worker without PostgreSQL', withoutDatabase, [17, 40], between(cutBoth)),
  fault('network', 'lost answers of receivers', fromReceivers, [5, 20], between(cut)),
  fault('network', '300 ms delay', anyLink, [5, 40], between(detour)),
  fault('network', '5 % loss', anyLink, [5, 60], between(loseBoth)),
  fault('network', 'slow link', anyHost, [5, 40], between(narrow)),
  fault('clocks', 'clock off by 5 s', anyClock, [10, 60], offBy(5)),
  fault('clocks', 'clock off by 1 h', anyClock, [10, 60], offBy(3_600)),
  fault('clocks', 'jumping clock', anyClock, [10, 60], move(jumps)),
  fault('disks', 'slow blob store', any('s3'), [5, 40], halt('')),
  // A commit waits for the write of the standby as it waits for the disk.
  fault('disks', 'slow disk of PostgreSQL', any('standby'), [5, 30], halt('walreceiver')),
  fault('disks', 'full disk', any('primary', 's3', 's3'), [5, 20], fill),
  fault('memory', 'memory limit', any(...workers), [5, 20], limitMemory),
  fault('processes', 'kill -9', anyProcess, [0, 0], signal('SIGKILL')),
  fault('processes', 'kill -9 while it stores', any(...workers), [3, 6], killWhileStoring),
  fault('processes', 'SIGSTOP', anyProcess, [1, 30], signal('SIGSTOP')),
  // Longer than another worker needs to call again in its place.
  fault(
    'processes',
    'SIGSTOP of a worker until it is lost',
    any(...workers),
    [28, 45],
    stopWhileCalling,
  ),
  fault('processes', 'SIGTERM', any(...services), [0, 0], signal('SIGTERM')),
  fault('failover', 'failover: killed', any('primary'), [0, 0], failOver('killed')),
  fault('failover', 'failover: the old one returns', any('primary'), [5, 20], failOver('returned')),
  fault('failover', 'failover: two primaries', any('primary'), [5, 20], failOver('alone')),
]

type Planned = {
  readonly atMs: number
  readonly ms: number
  readonly kind: Kind
  readonly places: readonly Place[]
  readonly chance: Seeded
}

/** Chooses what strikes when, no kind twice before all others. The same seed chooses the same. */
export function planFaults(
  seed: number,
  seconds: number,
  groups: readonly string[],
  pauseMs: number,
): readonly Planned[] {
  const chance = createSeeded(seed)
  const chosen = kinds.filter(({ of }) => groups.includes(of))
  const planned: Planned[] = []
  const left: Kind[] = []
  for (
    let atMs = 1_000;
    chosen.length > 0 && atMs < seconds * 1000;
    atMs += chance.between(0, pauseMs)
  ) {
    if (left.length === 0) left.push(...chosen)
    const kind = chance.pick(left)
    left.splice(left.indexOf(kind), 1)
    const ms = 1000 * Math.min(chance.between(...kind.seconds), seconds / 4)
    const places = kind.places(chance)
    planned.push({ atMs, ms, kind, places, chance: createSeeded(chance.between(1, 1e9)) })
  }
  return planned
}

/** Lets the faults strike, several at once. Resolves when all are over. One failover comes after the other. */
export async function strike(
  planned: readonly Planned[],
  installation: Installation,
  add: (entry: Entry) => void,
): Promise<void> {
  const { databases, folder } = installation
  const startedAtMs = performance.now()
  let failover: Promise<unknown> = Promise.resolve()
  const all = planned.map(async ({ atMs, ms, kind, places, chance }) => {
    await sleep(startedAtMs + atMs - performance.now())
    if (kind.of === 'clocks' && !canMoveClocks) return
    if (kind.of === 'memory' && !canLimitMemory(folder)) return
    const once = async () => {
      const at = places.map((place) =>
        place === 'primary' || place === 'standby' ? databases[place]() : place,
      )
      const from = Date.now()
      await kind.strike({ installation, at, ms, chance })
      add({ type: 'fault', from, at: Date.now(), kind: kind.name, parts: at })
    }
    if (kind.of === 'failover') await (failover = failover.then(once))
    else await once()
  })
  await Promise.all(all)
}
