import { setTimeout as sleep } from 'node:timers/promises'
import type { Entry } from '../../../bench/hosts/history.ts'
import type { S3Server } from '../blobs/s3Server.ts'
import type { Seeded } from '../seeded.ts'
import { createSeeded } from '../seeded.ts'
import type { DarkroomProcess, TestService } from '../service/testService.ts'

export type ChaosFault = {
  /** What it strikes: the processes of the service, or a server that they use. */
  readonly part: 'kills' | 'temporal' | 'postgres' | 's3'
  readonly name: string
  /** Resolves when the fault is over, or when the service recovers on its own. */
  readonly strike: () => Promise<void>
}

/** Which faults strike, and when. */
export type FaultRound = {
  readonly seed: number
  /** For how long faults strike, with pauses of up to `pauseMs` between them. */
  readonly strikeMs: number
  readonly pauseMs: number
  readonly faults: (chance: Seeded) => readonly ChaosFault[]
}

/**
 * Lets faults strike, or waits as long when there are none. Resolves when all of them are over. Each one goes into the
 * history of the run.
 */
export async function strikeFaults(round: FaultRound, add: (fault: Entry) => void): Promise<void> {
  const chance = createSeeded(round.seed + 2)
  const faults = round.faults(chance)
  if (faults.length === 0) return sleep(round.strikeMs)
  const endsAtMs = performance.now() + round.strikeMs
  const struck: Promise<void>[] = []
  while (performance.now() < endsAtMs) {
    await sleep(chance.between(0, round.pauseMs))
    const { name: kind, part, strike } = chance.pick(faults)
    const from = Date.now()
    const over = () => add({ type: 'fault', from, at: Date.now(), kind, parts: [partNames[part]] })
    // Not awaited, so that faults overlap.
    struck.push(strike().then(over))
  }
  await Promise.all(struck)
}

/** The parts as a history names them. */
const partNames = { kills: 'darkroom', temporal: 'temporal', postgres: 'pg', s3: 's3' } as const

/**
 * Faults of API and worker processes and of their connections. They do not disturb other users of the stack.
 */
export function processFaults(
  service: TestService,
  chance: Seeded,
  stopMs: readonly [number, number],
): ChaosFault[] {
  const { apis, workers } = service
  const part = 'kills'
  const stop = (processes: readonly DarkroomProcess[]) =>
    freeze(chance.pick(processes).signal, chance.between(...stopMs))
  const end = (processes: DarkroomProcess[], signal: NodeJS.Signals) =>
    replace(processes, signal, chance, ({ url }) =>
      processes === apis ? service.startApi({ PORT: new URL(url).port }) : service.startWorker(),
    )
  return [
    { part, name: 'kill -9 API', strike: () => end(apis, 'SIGKILL') },
    { part, name: 'kill -9 worker', strike: () => end(workers, 'SIGKILL') },
    { part, name: 'SIGTERM worker', strike: () => end(workers, 'SIGTERM') },
    { part, name: 'SIGSTOP API', strike: () => stop(apis) },
    { part, name: 'SIGSTOP worker', strike: () => stop(workers) },
    { part, name: 'cut PostgreSQL connections', strike: () => cutConnections(service) },
  ]
}

/** Faults of PostgreSQL and Temporal. Only for a stack that nobody else uses. */
export function stackFaults(
  pidOf: (part: 'postgres' | 'temporal') => number,
  chance: Seeded,
  stopMs: readonly [number, number],
): ChaosFault[] {
  const temporal = (name: NodeJS.Signals) => signalTo(pidOf('temporal'), name)
  return [
    { part: 'temporal', name: 'kill -9 Temporal', strike: async () => temporal('SIGKILL') },
    {
      part: 'temporal',
      name: 'SIGSTOP Temporal',
      strike: () => freeze(temporal, chance.between(...stopMs)),
    },
    {
      part: 'postgres',
      name: 'kill -9 postmaster',
      strike: async () => signalTo(pidOf('postgres'), 'SIGKILL'),
    },
  ]
}

/** Faults of the S3 server. Only for a server that nobody else uses. */
export function s3Faults(
  s3: S3Server,
  chance: Seeded,
  stopMs: readonly [number, number],
): ChaosFault[] {
  const part = 's3'
  return [
    { part, name: 'kill -9 S3', strike: () => s3.restart(chance.between(...stopMs)) },
    { part, name: 'SIGSTOP S3', strike: () => freeze(s3.signal, chance.between(...stopMs)) },
  ]
}

/** Ends one process and starts another, an API at the same address. Does nothing when only one process is left. */
async function replace(
  processes: DarkroomProcess[],
  signal: NodeJS.Signals,
  chance: Seeded,
  start: (ended: DarkroomProcess) => Promise<DarkroomProcess>,
): Promise<void> {
  if (processes.length < 2) return
  const chosen = chance.pick(processes)
  processes.splice(processes.indexOf(chosen), 1)
  chosen.signal(signal)
  await chosen.ended
  await startWithRetries(() => start(chosen))
}

/** Long enough for PgBouncer, which refuses all clients for 15 s when PostgreSQL refuses it once. */
const startsMax = 30

/** Retries the start, as a supervisor does: it fails while PostgreSQL or Temporal is stopped. */
async function startWithRetries(start: () => Promise<DarkroomProcess>): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await start()
      return
    } catch (error) {
      if (tries >= startsMax) throw error
      await sleep(1_000)
    }
  }
}

async function freeze(signal: (name: NodeJS.Signals) => void, ms: number): Promise<void> {
  signal('SIGSTOP')
  await sleep(ms)
  signal('SIGCONT')
}

/** Signals a process, if there is one: it may have been killed and not been replaced yet. */
function signalTo(pid: number, name: NodeJS.Signals): void {
  try {
    // 0 would mean this process and all others of its group.
    if (pid !== 0) process.kill(pid, name)
  } catch {
    // It has ended meanwhile.
  }
}

async function cutConnections({ pool }: TestService): Promise<void> {
  await pool
    .query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and application_name like 'darkroom-%'`,
    )
    .catch(() => undefined)
}
