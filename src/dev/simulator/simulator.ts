import { parseArgs } from 'node:util'
import { faultHelp } from './faults.ts'
import { startSimulator } from './startSimulator.ts'

const usage =
  'node src/dev/simulator/simulator.ts [--host 127.0.0.1] [--port 8090] [--latency 3000-6000] [--tiny]'

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
  const [minMs = 0, maxMs = minMs] = values.latency.split('-').map(Number)
  const { url } = await startSimulator({
    host: values.host,
    port: Number(values.port),
    latency: { minMs, maxMs },
    image: values.tiny ? 'tiny' : 'drawn',
  })
  console.log(`Upstream simulator at ${url}`)
}
