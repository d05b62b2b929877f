// node watchdog.ts DATA_DIR OWNER_PID OWNER_START [remove]
//
// Outlives the process that started the stack just long enough to end what it left: its standard
// input closes when that process ends, in whatever way. After a clean stop nothing is left to end.
import { rm } from 'node:fs/promises'
import { stopLingering } from './stopLingering.ts'

const [dataDir, ownerPid, ownerStart, afterwards] = process.argv.slice(2)
if (dataDir === undefined || ownerPid === undefined || ownerStart === undefined) {
  throw new Error('usage: node watchdog.ts DATA_DIR OWNER_PID OWNER_START [remove]')
}

// A signal meant for the stack's process group must not end its watchdog first.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)

process.stdin.resume()
await new Promise((resolve) => {
  process.stdin.once('end', resolve)
  process.stdin.once('error', resolve)
  process.stdin.once('close', resolve)
})
await stopLingering(dataDir, { pid: Number(ownerPid), start: ownerStart })
if (afterwards === 'remove') await rm(dataDir, { recursive: true, force: true })
process.exit(0)
