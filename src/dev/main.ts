// `npm start`: the whole service on one machine, until Ctrl-C or SIGTERM. A second signal stops at once.
import { ConfigError } from '../config/configError.ts'
import { announcement } from './announcement.ts'
import { StartError } from './stack/startError.ts'
import type { Service } from './start.ts'
import { startService } from './start.ts'

// Every child process inherits this umask. So only this user can read what is written into DATA_DIR.
process.umask(0o077)

let service: Service | undefined
let stopsAsked = 0
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
    const isForPeople = error instanceof ConfigError || error instanceof StartError
    say(isForPeople ? error.message : String(error instanceof Error ? error.stack : error))
    process.exit(error instanceof ConfigError ? 2 : 1)
  }
}

async function stop(exitCode = 0): Promise<void> {
  stopsAsked += 1
  if (stopsAsked > 1) {
    service?.kill()
    process.exit(1)
  }
  // The start may build for minutes. When it is still running, this process exits at once, and its watchdog
  // (`stack/watchdog.ts`) ends the parts that have started.
  if (service === undefined) process.exit(0)
  say('\nStopping. Calls under way finish first. Ctrl-C again stops at once.')
  await service.stop()
  process.exit(exitCode)
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}
