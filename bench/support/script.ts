import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

/** A script of this folder that runs as a process of its own and sends JSON. */
export type Script<Told> = {
  readonly pid: number
  /** What it sent when it was ready. */
  readonly told: Told
  /** Asks it to send something, and returns that. */
  readonly ask: <Answer>() => Promise<Answer>
  readonly stop: () => Promise<void>
}

/** Runs a script of this folder. It must end when its parent disconnects. */
export async function startScript<Told>(
  name: string,
  ...args: readonly string[]
): Promise<Script<Told>> {
  const path = fileURLToPath(new URL(name, import.meta.url))
  const child = fork(path, args, { stdio: 'inherit' })
  const ended = once(child, 'exit')
  const fail = ended.then(([how]: readonly unknown[]) => {
    throw new Error(`${name} ended: ${String(how)}`)
  })
  fail.catch(() => undefined)
  const next = async <Sent>(): Promise<Sent> => {
    const [message]: readonly unknown[] = await Promise.race([once(child, 'message'), fail])
    const sent: Sent = JSON.parse(String(message))
    return sent
  }
  return {
    told: await next<Told>(),
    pid: child.pid ?? 0,
    ask: async <Answer>() => {
      const answer = next<Answer>()
      child.send('ask')
      return answer
    },
    stop: async () => {
      if (child.connected) child.disconnect()
      await ended
    },
  }
}

/** Sends something to the parent of this process, from a script. */
export function tell(value: unknown): void {
  process.send?.(JSON.stringify(value))
}
