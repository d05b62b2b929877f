/**
 * node bench/clients.ts
 *
 * Installs the client libraries below into a temporary folder, and with each makes an image and edits one.
 */
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import sharp from 'sharp'
import { runCommand } from '../src/dev/command.ts'
import { noisePng } from '../test/support/images.ts'
import type { SimulatorClient } from '../test/support/simulatorClient.ts'
import { withSimulated } from './support/benchService.ts'
import type { Bench } from './support/runBench.ts'
import { runBench, say } from './support/runBench.ts'

/** What is installed. The table in docs/api.md has these versions too: change both together. */
const npmPackages = {
  openai: '7.57.0',
  ai: '7.0.173',
  '@ai-sdk/openai': '4.0.118',
  '@ai-sdk/openai-compatible': '3.0.92',
  '@google/genai': '3.1.0',
} as const
const pipPackages = {
  openai: '3.57.0',
  litellm: '1.110.2',
  'google-genai': '3.6.1',
  aiohttp: '3.14.5',
} as const

const javascript = [
  'openai',
  '@ai-sdk/openai',
  '@ai-sdk/openai-compatible',
  '@google/genai',
] as const
const python = ['openai', 'litellm', 'google-genai'] as const
type Client = {
  readonly language: 'JavaScript' | 'Python'
  readonly library: string
  readonly version: string
}
const clients: readonly Client[] = [
  ...javascript.map((library) => ({
    language: 'JavaScript' as const,
    library,
    version: npmPackages[library],
  })),
  ...python.map((library) => ({
    language: 'Python' as const,
    library,
    version: pipPackages[library],
  })),
  // It needs gigabytes and is not installed: the program sends what this version sends, through aiohttp too.
  { language: 'Python', library: 'open-webui', version: '0.12.4' },
]
const operations = ['generate', 'edit'] as const
type Operation = (typeof operations)[number]

/** The packages have 500 MiB in thousands of files. */
const installMsMax = 15 * 60_000
/** A call may take 280 s, and a library seconds to load. */
const callMsMax = 300_000
/** Enough for Base64 with each of its 64 letters: two of them differ in the URL-safe alphabet. */
const sourceSide = 128

type Service = {
  readonly url: string
  readonly key: string
  readonly simulator: SimulatorClient
}

await runBench(({ check }) =>
  withSimulated({}, async ({ url, account, simulator }) =>
    tryClients({ url, key: (await account()).secret, simulator }, check),
  ),
)

/** Installs all packages, then makes the images one after the other. */
async function tryClients(service: Service, check: Bench['check']): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'darkroom-clients-'))
  try {
    await install(folder)
    await writeFile(join(folder, 'source.png'), await noisePng(sourceSide, sourceSide))
    for (const client of clients) {
      for (const operation of operations) {
        const fault = await faultOf(client, operation, { folder, service })
        const what = `${client.language}, ${client.library} ${client.version}, ${operation}`
        check(fault === undefined ? what : `${what}: ${fault}`, fault === undefined)
      }
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function install(folder: string): Promise<void> {
  say('installing packages')
  const npm = Object.entries(npmPackages).map(([name, version]) => `${name}@${version}`)
  const pip = Object.entries(pipPackages).map(([name, version]) => `${name}==${version}`)
  for (const [file, ...args] of [
    ['npm', 'install', '--prefix', folder, '--no-audit', '--no-fund', ...npm],
    ['python3', '-m', 'venv', join(folder, 'python')],
    [pythonIn(folder), '-m', 'pip', 'install', '--quiet', ...pip],
  ] as const) {
    const { env } = process
    const { ok, end, output } = await runCommand(file, args, { env, timeoutMs: installMsMax })
    if (!ok) throw new Error(`${file} ${args.join(' ')}: ${end}\n${output}`)
  }
}

function pythonIn(folder: string): string {
  return join(folder, 'python', 'bin', 'python')
}

/** Makes one image. Returns what went wrong, or `undefined`. */
async function faultOf(
  client: Client,
  operation: Operation,
  { folder, service }: { readonly folder: string; readonly service: Service },
): Promise<string | undefined> {
  const image = join(folder, 'image')
  const prompt = `${client.language}, ${client.library}, ${operation}`
  await rm(image, { force: true })
  const { ok, end, output } = await runProgram(client, operation, folder, {
    DARKROOM_URL: service.url,
    DARKROOM_KEY: service.key,
    PROMPT: prompt,
    SOURCE: join(folder, 'source.png'),
    IMAGE: image,
  })
  if (!ok) return `${end}, ${output.split('\n').at(-1) ?? ''}`
  const isImage = await sharp(image)
    .stats()
    .then(Boolean, () => false)
  if (!isImage) return 'it wrote no image'
  const calls = await service.simulator.calls({ prompt })
  const sent = calls.map(({ images }) => images.length).join()
  const expected = operation === 'edit' ? '1' : '0'
  if (sent === expected) return undefined
  return `the calls of the upstream had ${sent || 'no'} images, not ${expected}`
}

async function runProgram(
  { language, library }: Client,
  operation: Operation,
  folder: string,
  variables: Readonly<Record<string, string>>,
) {
  const isPython = language === 'Python'
  const program = isPython ? 'python.py' : 'javascript.mjs'
  const script = join(folder, program)
  // Node looks for packages in the folder of the program.
  await copyFile(fileURLToPath(new URL(`clients/${program}`, import.meta.url)), script)
  const interpreter = isPython ? pythonIn(folder) : process.execPath
  return runCommand(interpreter, [script, library, operation], {
    // LiteLLM would fetch a table of prices.
    env: { ...process.env, LITELLM_LOCAL_MODEL_COST_MAP: 'True', ...variables },
    timeoutMs: callMsMax,
  })
}
