import { rmSync, writeFileSync } from 'node:fs'
import type { Child, Launch } from './child.ts'
import { createTerminal } from './terminal.ts'

/** Everything that one start of `npm start` runs, and how it ends. */
export type Running = ReturnType<typeof createRunning>

/** Returns the state of a start of which nothing runs yet. */
export function createRunning() {
  /** PostgreSQL, Temporal and its UI, in the order of their start. */
  const embedded: Child[] = []
  /** The worker, the API and the admin process. */
  const services: Child[] = []
  const stopping = new AbortController()
  let stopped: Promise<void> | undefined
  let progressPath: string | undefined
  const terminal = createTerminal(process.stdout, (text) => {
    if (progressPath !== undefined) writeFileSync(progressPath, text)
  })

  const stopAll = async (exitCode: number): Promise<void> => {
    endProgress()
    await Promise.all(services.map((service) => service.stop()))
    for (const part of embedded.toReversed()) await part.stop()
    process.exit(exitCode)
  }

  function endProgress(): void {
    if (progressPath !== undefined) rmSync(progressPath, { force: true })
    progressPath = undefined
  }

  return {
    say: terminal.say,
    /** Aborted when everything is told to end. */
    stopping: stopping.signal,
    /** Returns what the embedded parts share, and what the processes of Darkroom share. */
    launches: (folder: Pick<Launch, 'dataDir' | 'lockFd'>) => {
      const shared = { ...folder, ...terminal, stopping: stopping.signal }
      return {
        embedded: { ...shared, children: embedded },
        services: { ...shared, children: services },
      }
    },
    /** From now on writes what is shown into a file, which the playground shows. */
    beginProgress: (path: string) => {
      progressPath = path
    },
    /** Removes that file: nothing is built any more. */
    endProgress,
    /** Resolves to a message when a process of Darkroom refuses its configuration. */
    refused: () => Promise.race(services.map((service) => service.refused)),
    /**
     * Ends what runs, and exits. Nothing starts any more, at whatever stage the start is. Each further call waits for
     * the same stop, because a process of Darkroom that is told twice ends at once.
     */
    stop: (exitCode: number): Promise<void> => {
      stopping.abort()
      return (stopped ??= stopAll(exitCode))
    },
  }
}
