/**
 * node bench/clients.ts
 *
 * Installs the client libraries below into a temporary folder, and with each makes an image and edits one, also by a
 * stream where it has one.
 */
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import sharp from 'sharp'
import { runCommand } from '../src/dev/command.ts'
import { noisePng } from '../test/support/images.ts'
import type { BenchService } from './support/benchWorld.ts'
import { withSimulated } from './support/benchWorld.ts'
import { runBench } from './support/runBench.ts'

/** What is installed. The table in docs/api.md has these versions too: change both together. */
const npmPackages = [
  'openai@7.59.0',
  'ai@7.0.173',
  '@ai-sdk/openai@4.0.118',
  '@ai-sdk/openai-compatible@3.0.92',
  '@google/genai@3.3.0',
]
const pipPackages = ['openai==3.57.0', 'litellm==1.110.2', 'google-genai==3.6.1', 'aiohttp==3.14.5']
/** The libraries that each program knows. Open WebUI needs gigabytes: the program sends what version 0.12.4 sends. */
const libraries = {
  'javascript.mjs': ['openai', '@ai-sdk/openai', '@ai-sdk/openai-compatible', '@google/genai'],
  'python.py': ['openai', 'litellm', 'google-genai', 'open-webui'],
} as const
/** Those with streams of images. Their model takes longer than the 5 s after which a stream begins. */
const streaming: readonly string[] = ['openai', '@google/genai', 'google-genai']

/** The packages have 500 MiB in thousands of files. */
const installMsMax = 15 * 60_000
/** A call may take 280 s, and a library seconds to load. */
const callMsMax = 300_000
/** Enough for Base64 with each of its 64 letters: two of them differ in the URL-safe alphabet. */
const sourceSide = 128

const folder = await mkdtemp(join(tmpdir(), 'darkroom-clients-'))
const python = join(folder, 'python', 'bin', 'python')

await runBench(({ figure }) =>
  withSimulated({}, async (service) => {
    try {
      await install()
      await writeFile(join(folder, 'source.png'), await noisePng(sourceSide, sourceSide))
      let failed = 0
      for (const program of ['javascript.mjs', 'python.py'] as const) {
        for (const call of libraries[program].flatMap((one) => [
          `${one} generate`,
          `${one} edit`,
          ...(streaming.includes(one) ? [`${one} stream-generate`, `${one} stream-edit`] : []),
        ])) {
          const fault = await faultOf(program, call, service)
          console.log(`${program} ${call}: ${fault ?? 'ok'}`)
          if (fault !== undefined) failed += 1
        }
      }
      figure('failed', failed, '', { atMost: 0 })
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  }),
)

async function install(): Promise<void> {
  console.error('installing packages')
  for (const [file, ...args] of [
    ['npm', 'install', '--prefix', folder, '--no-audit', '--no-fund', ...npmPackages],
    ['python3', '-m', 'venv', join(folder, 'python')],
    [python, '-m', 'pip', 'install', '--quiet', ...pipPackages],
  ] as const) {
    const { env } = process
    const { ok, end, output } = await runCommand(file, args, { env, timeoutMs: installMsMax })
    if (!ok) throw new Error(`${file} ${args.join(' ')}: ${end}\n${output}`)
  }
}

/** Makes one image: `call` is a library and what it is asked for. Returns what went wrong, or `undefined`. */
async function faultOf(
  program: keyof typeof libraries,
  call: string,
  { url, client, simulator }: BenchService,
): Promise<string | undefined> {
  const prompt = `${program}, ${call}${call.includes('stream') ? ' [sim:delay ms=6000]' : ''}`
  // Node looks for packages in the folder of the program.
  const script = join(folder, program)
  await copyFile(fileURLToPath(new URL(`clients/${program}`, import.meta.url)), script)
  const interpreter = program === 'python.py' ? python : process.execPath
  const { ok, end, output } = await runCommand(interpreter, [script, ...call.split(' ')], {
    env: {
      ...process.env,
      // LiteLLM would fetch a table of prices.
      LITELLM_LOCAL_MODEL_COST_MAP: 'True',
      DARKROOM_URL: url,
      DARKROOM_API_KEY: client.authorization.replace('Bearer ', ''),
      PROMPT: prompt,
      SOURCE: join(folder, 'source.png'),
    },
    timeoutMs: callMsMax,
  })
  if (!ok) return `${end}, ${output.split('\n').at(-1)}`
  // Libraries print warnings of their own.
  const [image = ''] = /^[0-9A-Za-z+/]{64,}=*$/m.exec(output) ?? []
  const isImage = await sharp(Buffer.from(image, 'base64'))
    .stats()
    .then(Boolean, () => false)
  if (!isImage) return 'it got no image'
  const sent = (await simulator.calls({ prompt })).map(({ images }) => images.length).join()
  const expected = call.endsWith('edit') ? '1' : '0'
  return sent === expected ? undefined : `the calls of the upstream had ${sent || 'no'} images`
}
