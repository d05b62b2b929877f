import { setTimeout as sleep } from 'node:timers/promises'
import type { DarkroomProcess } from '../service/darkroomProcess.ts'
import type { Seeded } from '../seeded.ts'
import type { TestService } from '../service/testService.ts'

/** Resolves when what was broken is mended, or is mending itself. */
export type ChaosFault = { readonly name: string; readonly strike: () => Promise<void> }

/** Faults of our own processes and of their connections: for any stack, also one shared with others. */
export function processFaults(
  service: TestService,
  chance: Seeded,
  stopMs: readonly [number, number],
): ChaosFault[] {
  const { apis, workers } = service
  return [
    { name: 'kill -9 API', strike: () => replace(apis, 'SIGKILL', service.startApi, chance) },
    {
      name: 'kill -9 worker',
      strike: () => replace(workers, 'SIGKILL', service.startWorker, chance),
    },
    {
      name: 'SIGTERM worker',
      strike: () => replace(workers, 'SIGTERM', service.startWorker, chance),
    },
    {
      name: 'SIGSTOP API',
      strike: () => freeze(chance.pick(apis).signal, chance.between(...stopMs)),
    },
    {
      name: 'SIGSTOP worker',
      strike: () => freeze(chance.pick(workers).signal, chance.between(...stopMs)),
    },
    { name: 'cut PostgreSQL connections', strike: () => cutConnections(service) },
  ]
}

/** Faults of PostgreSQL and Temporal themselves: only on a stack of one's own. */
export function stackFaults(
  pids: () => { readonly postgres: number; readonly temporal: number },
  chance: Seeded,
  stopMs: readonly [number, number],
): ChaosFault[] {
  return [
    { name: 'kill -9 Temporal', strike: async () => signalTo(pids().temporal)('SIGKILL') },
    {
      name: 'SIGSTOP Temporal',
      strike: () => freeze(signalTo(pids().temporal), chance.between(...stopMs)),
    },
    { name: 'kill -9 postmaster', strike: async () => signalTo(pids().postgres)('SIGKILL') },
  ]
}

/** Ends one of them and starts another; the last one is left alone. */
async function replace(
  processes: DarkroomProcess[],
  signal: NodeJS.Signals,
  start: () => Promise<DarkroomProcess>,
  chance: Seeded,
): Promise<void> {
  if (processes.length < 2) return
  const chosen = chance.pick(processes)
  processes.splice(processes.indexOf(chosen), 1)
  chosen.signal(signal)
  await Promise.all([chosen.ended, startPatiently(start)])
}

/** A process that cannot start while PostgreSQL or Temporal is away is started again, as a supervisor would. */
async function startPatiently(start: () => Promise<DarkroomProcess>): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await start()
      return
    } catch (error) {
      if (tries >= 10) throw error
      await sleep(1_000)
    }
  }
}

async function freeze(signal: (name: NodeJS.Signals) => void, ms: number): Promise<void> {
  signal('SIGSTOP')
  await sleep(ms)
  signal('SIGCONT')
}

/** To a process that may be gone by now. */
function signalTo(pid: number) {
  return (name: NodeJS.Signals): void => {
    try {
      process.kill(pid, name)
    } catch {
      // It was killed and replaced meanwhile: there is nothing left to do to it.
    }
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
