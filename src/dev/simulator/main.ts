import { parseArgs } from 'node:util'
import type { SimulatorCall } from './calls.ts'
import { faultHelp } from './faults.ts'
import type { Latency } from './plan.ts'
import { startSimulator } from './server.ts'

const usage =
  'node src/dev/simulator/main.ts [--host 127.0.0.1] [--port 8090] [--latency 3000-6000] [--tiny]'

const { values } = parseArgs({
  options: {
    host: { type: 'string', default: '127.0.0.1' },
    port: { type: 'string', default: '8090' },
    latency: { type: 'string', default: '3000-6000' },
    tiny: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})

if (values.help) {
  console.log(`${usage}\n\nFaults, written [sim:KIND NAME=VALUE …] in a prompt:\n\n${faultHelp()}`)
} else {
  await run()
}

async function run(): Promise<void> {
  const simulator = await startSimulator({
    host: values.host,
    port: Number(values.port),
    latency: readLatency(values.latency),
    image: values.tiny ? 'tiny' : 'drawn',
    log: printCall,
  })
  console.log(`Upstream simulator at ${simulator.url}`)
  const stop = (): void => void simulator.close()
  process.once('SIGINT', stop)
  process.once('SIGTERM', stop)
}

function readLatency(text: string): Latency {
  const [minMs, maxMs] = text.split('-').map(Number)
  if (minMs === undefined || Number.isNaN(minMs)) throw new TypeError(usage)
  return { minMs, maxMs: maxMs ?? minMs }
}

/** Prints one line per call. The line never contains the prompt, because a prompt may be confidential. */
function printCall(call: SimulatorCall): void {
  const durationMs = (call.finishedAt ?? call.at) - call.at
  const fault = call.fault ?? 'ok'
  const end = call.clientAborted ? 'client left' : `${call.status ?? 'no answer'}`
  console.log(
    `${new Date(call.at).toISOString()} ${call.id} ${call.model ?? '-'} ${call.action ?? '-'} ${fault} ${end} ${durationMs} ms`,
  )
}
