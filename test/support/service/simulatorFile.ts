import { writeFile } from 'node:fs/promises'

/** The upstream credentials of the tests. They differ, so the simulator's log shows which channel called. */
export const upstreamCredentials = {
  FAMILYA_API_KEY: 'upstream-credential-a',
  FAMILYB_API_KEY: 'upstream-credential-b',
} as const

/** Returns an operator's file with one channel for each family. Both lead to the simulator at `url`. */
export function simulatorFile(url: string, channel: Readonly<Record<string, unknown>> = {}) {
  const a = { name: 'a-main', family: 'A', baseUrl: url, apiKeyEnv: 'FAMILYA_API_KEY' }
  const b = { name: 'b-main', family: 'B', baseUrl: `${url}/v1`, apiKeyEnv: 'FAMILYB_API_KEY' }
  return { channels: [a, b].map((each) => ({ ...each, ...channel })) }
}

/** Writes an operator's file and returns its path. */
export async function writeOperatorFile(path: string, content: unknown): Promise<string> {
  await writeFile(path, JSON.stringify(content))
  return path
}
