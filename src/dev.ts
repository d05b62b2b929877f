import type { Service } from './dev/start.ts'
import { startService } from './dev/start.ts'
import { ConfigError } from './config/configError.ts'
import { isStartFailure } from './dev/stack/startFailure.ts'

/** `npm start`: the whole service on one machine, until Ctrl-C or SIGTERM; at once on the second. */

const say = (line: string): void => void process.stdout.write(`${line}\n`)

let service: Service | undefined
let asked = 0
const stop = async (): Promise<void> => {
  asked += 1
  if (asked > 1) {
    service?.kill()
    process.exit(1)
  }
  // Not ready yet, perhaps building for minutes: what was started so far is ended by its watchdog.
  if (service === undefined) process.exit(0)
  say('\nStopping; calls in flight finish first. Ctrl-C again stops at once.')
  await service.stop()
  process.exit(0)
}
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void stop())

await start()

async function start(): Promise<void> {
  try {
    service = await startService(say)
    announce(service)
  } catch (error) {
    const expected = error instanceof ConfigError || isStartFailure(error)
    say(expected ? error.message : String(error instanceof Error ? error.stack : error))
    process.exit(error instanceof ConfigError ? 2 : 1)
  }
}

/** The key is shown to a person only: what is not a terminal may be a log. */
function announce({ apiUrl, temporalUiUrl, key, keyPath }: Service): void {
  say(`\nDarkroom is ready at ${apiUrl}`)
  if (temporalUiUrl !== undefined) say(`Temporal UI:         ${temporalUiUrl}`)
  if (key === undefined) return
  say(`Key of account demo: ${process.stdout.isTTY ? key : `in ${keyPath}`}`)
  const body = {
    model: 'familyb-image-2-vip',
    action: 'generate',
    prompt: 'A lighthouse at dusk',
    size: '1024x1024',
  }
  say(
    `\nTry it:\n\ncurl -s ${apiUrl}/v1/images/tasks -H "Authorization: Bearer $(cat '${keyPath}')" \\\n` +
      `  -H 'Content-Type: application/json' -H "Idempotency-Key: $(date +%s)" \\\n` +
      `  -d '${JSON.stringify(body)}'\n`,
  )
}
