import { announcement } from './dev/announcement.ts'
import type { Service } from './dev/start.ts'
import { startService } from './dev/start.ts'
import { ConfigError } from './config/configError.ts'
import { isStartFailure } from './dev/stack/startFailure.ts'

/** `npm start`: the whole service on one machine, until Ctrl-C or SIGTERM; at once on the second. */

const say = (line: string): void => void process.stdout.write(`${line}\n`)

let service: Service | undefined
let asked = 0
const stop = async (exitCode = 0): Promise<void> => {
  asked += 1
  if (asked > 1) {
    service?.kill()
    process.exit(1)
  }
  // Not ready yet, perhaps building for minutes: what was started so far is ended by its watchdog.
  if (service === undefined) process.exit(0)
  say('\nStopping; calls in flight finish first. Ctrl-C again stops at once.')
  await service.stop()
  process.exit(exitCode)
}
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void stop())

await start()

async function start(): Promise<void> {
  try {
    service = await startService(say)
    say(announcement(service, process.stdout.isTTY))
    void service.refused.then((reason) => {
      say(reason)
      return stop(2)
    })
  } catch (error) {
    const expected = error instanceof ConfigError || isStartFailure(error)
    say(expected ? error.message : String(error instanceof Error ? error.stack : error))
    process.exit(error instanceof ConfigError ? 2 : 1)
  }
}
