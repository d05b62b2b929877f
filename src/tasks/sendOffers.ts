import type { TaskStart } from '../domain/ports/taskRuns.ts'
import type { OnAccepted } from '../domain/ports/taskStore.ts'

export type SendOffersDeps = {
  /** Returns the processes that take offers and have sent a beat lately. */
  readonly acceptingProcesses: () => Promise<readonly string[]>
  /** Sends an offer to a process. The offer may be lost. The reconciler then starts the task's workflow. */
  readonly send: (processId: string, start: TaskStart) => void
  /** Starts the workflow of a task for which no process takes offers. */
  readonly startRun: OnAccepted
  /** Returns a random number in [0, 1). */
  readonly random: () => number
  /** Returns milliseconds of a clock that never goes back. */
  readonly nowMs: () => number
}

export type OfferSender = {
  /** Offers a synchronous task to a worker. Returns at once and never throws. */
  readonly offer: OnAccepted
  /** Stops counting the offer of a task as open. Call it when nobody waits for the task any more. */
  readonly close: (taskId: string) => void
}

/**
 * How long a list of processes is used before it is read again. Far shorter than the silence after which a process is
 * no longer in the list.
 */
const listMsMax = 1_000
/** Limit for the offers that count as open. Beyond it the oldest one is forgotten. */
const openMax = 10_000

/**
 * Creates the part of an API process that offers synchronous tasks to workers, so that their first call does not wait
 * for Temporal. It draws two worker processes at random, and offers the task to the one with fewer open offers. Only
 * the offers of this API process are counted. An offer is open while a client waits for its task. If no process takes
 * offers, this part starts the task's workflow, as for an asynchronous task.
 */
export function createOfferSender(deps: SendOffersDeps): OfferSender {
  const open = new Map<string, string>()
  const counts = new Map<string, number>()
  let listed: { readonly atMs: number; readonly processes: Promise<readonly string[]> } | undefined

  function processes(): Promise<readonly string[]> {
    const nowMs = deps.nowMs()
    if (listed === undefined || nowMs - listed.atMs > listMsMax) {
      listed = { atMs: nowMs, processes: list() }
    }
    return listed.processes
  }

  async function list(): Promise<readonly string[]> {
    const processes = await deps.acceptingProcesses().catch(() => [])
    // An empty list is not used again, because a worker may be starting.
    if (processes.length === 0) listed = undefined
    return processes
  }

  function choose(from: readonly string[]): string | undefined {
    const draw = () => from[Math.floor(deps.random() * from.length)]
    const [first, second] = [draw(), draw()]
    if (first === undefined || second === undefined) return first
    return (counts.get(second) ?? 0) < (counts.get(first) ?? 0) ? second : first
  }

  function count(processId: string, change: 1 | -1): void {
    const changed = (counts.get(processId) ?? 0) + change
    if (changed === 0) counts.delete(processId)
    else counts.set(processId, changed)
  }

  function close(taskId: string): void {
    const processId = open.get(taskId)
    if (processId === undefined) return
    open.delete(taskId)
    count(processId, -1)
  }

  async function offer(start: TaskStart): Promise<void> {
    const processId = choose(await processes())
    if (processId === undefined) return deps.startRun(start)
    open.set(start.taskId, processId)
    count(processId, 1)
    const [oldest] = open.keys()
    if (open.size > openMax && oldest !== undefined) close(oldest)
    deps.send(processId, start)
  }

  return { offer: (start) => void offer(start), close }
}
