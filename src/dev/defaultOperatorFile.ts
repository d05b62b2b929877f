import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * Credentials for the simulator, which accepts any text. They differ, so the `apiKeyDigest` in its log shows
 * which channel made a call.
 */
export const simulatorCredentials = {
  FAMILYA_API_KEY: 'simulator-a',
  FAMILYB_API_KEY: 'simulator-b',
} as const

/**
 * Writes the operator's file that `npm start` uses when DARKROOM_CONFIG names none: one channel per family, and both
 * channels lead to the simulator. Returns the path.
 */
export async function writeDefaultOperatorFile(
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
