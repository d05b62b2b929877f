import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** The simulator takes any credential; these say to whoever reads a log where they lead. */
export const simulatorCredentials = {
  FAMILYA_API_KEY: 'simulator-a',
  FAMILYB_API_KEY: 'simulator-b',
} as const

/** Writes the operator's file that leads both families to the simulator; answers its path. */
export async function writeSimulatorChannels(
  dataDir: string,
  simulatorUrl: string,
): Promise<string> {
  const path = join(dataDir, 'simulator.config.json')
  const shared = { timeoutSeconds: 300, concurrencyMax: 50 }
  const a = { name: 'a-main', family: 'A', baseUrl: simulatorUrl, apiKeyEnv: 'FAMILYA_API_KEY' }
  const b = {
    name: 'b-main',
    family: 'B',
    baseUrl: `${simulatorUrl}/v1`,
    apiKeyEnv: 'FAMILYB_API_KEY',
  }
  const file = { channels: [a, b].map((channel) => ({ ...channel, ...shared })) }
  await writeFile(path, `${JSON.stringify(file, null, 2)}\n`)
  return path
}
