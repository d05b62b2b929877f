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
import type { BenchService } from './support/benchService.ts'
import { withSimulated } from './support/benchService.ts'
import { runBench, say } from './support/runBench.ts'

/** What is installed. The table in docs/api.md has these versions too: change both together. */
const npmPackages = [
  'openai@7.57.0',
  'ai@7.0.173',
  '@ai-sdk/openai@4.0.118',
  '@ai-sdk/openai-compatible@3.0.92',
  '@google/genai@3.1.0',
]
const pipPackages = ['openai==3.57.0', 'litellm==1.110.2', 'google-genai==3.6.1', 'aiohttp==3.14.5']
/** The libraries that each program knows. Open WebUI needs gigabytes: the program sends what version 0.12.4 sends. */
const libraries = {
  'javascript.mjs': ['openai', '@ai-sdk/openai', '@ai-sdk/openai-compatible', '@google/genai'],
  'python.py': ['openai', 'litellm', 'google-genai', 'open-webui'],
} as const
type Call = {
  readonly program: keyof typeof libraries
  readonly library: string
  readonly operation: 'generate' | 'edit'
}

/** The packages have 500 MiB in thousands of files. */
const installMsMax = 15 * 60_000
/** A call may take 280 s, and a library seconds to load. */
const callMsMax = 300_000
/** Enough for Base64 with each of its 64 letters: two of them differ in the URL-safe alphabet. */
const sourceSide = 128

await runBench(({ check }) =>
  withSimulated({}, async (service) => {
    const folder = await mkdtemp(join(tmpdir(), 'darkroom-clients-'))
    try {
      await install(folder)
      await writeFile(join(folder, 'source.png'), await noisePng(sourceSide, sourceSide))
      for (const program of ['javascript.mjs', 'python.py'] as const) {
        for (const library of libraries[program]) {
          for (const operation of ['generate', 'edit'] as const) {
            const fault = await faultOf({ program, library, operation }, folder, service)
            const what = `${program}, ${library}, ${operation}`
            check(fault === undefined ? what : `${what}: ${fault}`, fault === undefined)
          }
        }
      }
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  }),
)

async function install(folder: string): Promise<void> {
  say('installing packages')
  for (const [file, ...args] of [
    ['npm', 'install', '--prefix', folder, '--no-audit', '--no-fund', ...npmPackages],
    ['python3', '-m', 'venv', join(folder, 'python')],
    [pythonIn(folder), '-m', 'pip', 'install', '--quiet', ...pipPackages],
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
  { program, library, operation }: Call,
  folder: string,
  { url, client, simulator }: BenchService,
): Promise<string | undefined> {
  const image = join(folder, 'image')
  const prompt = `${program}, ${library}, ${operation}`
  await rm(image, { force: true })
  const script = join(folder, program)
  // Node looks for packages in the folder of the program.
  await copyFile(fileURLToPath(new URL(`clients/${program}`, import.meta.url)), script)
  const interpreter = program === 'python.py' ? pythonIn(folder) : process.execPath
  const { ok, end, output } = await runCommand(interpreter, [script, library, operation], {
    env: {
      ...process.env,
      // LiteLLM would fetch a table of prices.
      LITELLM_LOCAL_MODEL_COST_MAP: 'True',
      DARKROOM_URL: url,
      DARKROOM_KEY: client.authorization.replace('Bearer ', ''),
      PROMPT: prompt,
      SOURCE: join(folder, 'source.png'),
      IMAGE: image,
    },
    timeoutMs: callMsMax,
  })
  if (!ok) return `${end}, ${output.split('\n').at(-1) ?? ''}`
  const isImage = await sharp(image)
    .stats()
    .then(Boolean, () => false)
  if (!isImage) return 'it wrote no image'
  const calls = await simulator.calls({ prompt })
  const sent = calls.map(({ images }) => images.length).join()
  const expected = operation === 'edit' ? '1' : '0'
  if (sent === expected) return undefined
  return `the calls of the upstream had ${sent || 'no'} images, not ${expected}`
}
