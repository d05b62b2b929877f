/**
 * node bench/support/hostileAccount.ts URL SECRET [ATTACK…]
 *
 * One account that attacks with everything an API key allows, as fast as it is answered, until it is killed. With
 * names of attacks, it uses only these.
 * Runs as a process of its own, so that it does not disturb what `hostile.ts` measures. Prints one line when
 * the attack is under way, and counts the answers on SIGTERM.
 */
import { randomBytes } from 'node:crypto'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { brotliCompressSync, constants } from 'node:zlib'
import { requestTextBytesMax } from '../../src/domain/limits.ts'
import { createClient } from '../../test/support/clients/client.ts'
import {
  editBody,
  formBody,
  formType,
  generateBody,
} from '../../test/support/clients/requestBodies.ts'
import { paddedPng } from '../../test/support/images.ts'
import type { HostileAttack } from './hostileAttacks.ts'
import { hostileAttacks } from './hostileAttacks.ts'

const [, , url = '', secret = '', ...chosen] = process.argv
const client = createClient(url, secret)
const { hostname, port } = new URL(url)
const mebibyte = 1024 * 1024
const counts: Record<string, number> = {}

function count(what: string): void {
  counts[what] = (counts[what] ?? 0) + 1
}

/** Runs `work` again and again, `parallel` at once, at most about 20 times a second each. */
function repeat(name: string, parallel: number, work: () => Promise<string | number>): void {
  for (let each = 0; each < parallel; each += 1) {
    void (async () => {
      for (;;) {
        count(`${name}: ${await work().catch((error: Error) => error.name)}`)
        await sleep(50)
      }
    })()
  }
}

function coded(body: string): Buffer {
  return brotliCompressSync(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } })
}

async function post(path: string, body: Buffer): Promise<number> {
  const answer = await fetch(`${url}${path}`, {
    method: 'POST',
    headers: {
      authorization: client.authorization,
      'content-type': 'application/json',
      'content-encoding': 'br',
    },
    body: new Uint8Array(body),
  })
  await answer.arrayBuffer()
  return answer.status
}

/** Opens a connection, writes the head of a request, and returns the connection. */
function open(lines: readonly string[]) {
  const socket = connect(Number(port), hostname)
  socket.on('error', () => {})
  socket.write(`${lines.join('\r\n')}\r\n\r\n`)
  return socket
}

const postHead = (path: string, bytes: number, type = 'application/json') => [
  `POST ${path} HTTP/1.1`,
  'Host: x',
  `Authorization: ${client.authorization}`,
  `Content-Type: ${type}`,
  `Content-Length: ${bytes}`,
]

// The largest prompts, from a few hundred bytes each.
const prompt = '\u0001'.repeat(Math.floor((requestTextBytesMax - 1024) / 6))
const largePrompt = coded(JSON.stringify(generateBody({ prompt })))
// Few bytes that unpack to much work.
const texts = Array.from({ length: 33_000 }, () => '{"text":"a"}').join()
const manyValues = coded(`{"contents":[{"parts":[${texts}]}]}`)
const whiteSpace = coded(' '.repeat(64 * mebibyte))
const contentPath = '/v1beta/models/familya-3-pro-image:asyncGenerateContent'
// Images that are stored and then left.
const largeEdit = formBody([
  { name: 'model', value: 'familyb-image-2-vip' },
  { name: 'prompt', value: 'images that are left' },
  { name: 'image', filename: 'large.png', value: paddedPng(16 * mebibyte, 1) },
])

// An image for the slow readers.
const { task_id } = await client.accepted(editBody({ prompt: 'an image to read slowly' }))
const record = await client.ended(task_id)
const asset = new URL(record.output?.assets[0]?.url ?? '')

const attacks: Readonly<Record<HostileAttack, () => void>> = {
  'large prompts': () => repeat('large prompt', 6, () => post('/v1/images/tasks', largePrompt)),
  'many values': () => repeat('many values', 4, () => post(contentPath, manyValues)),
  'white space': () => repeat('white space', 4, () => post('/v1/images/tasks', whiteSpace)),
  'bodies not sent': () => {
    for (let holder = 0; holder < 8; holder += 1) {
      const socket = open(postHead('/v1/images/tasks', 128 * mebibyte))
      setInterval(() => socket.write(' '), 1_000)
    }
  },
  'images left': () =>
    repeat('images left', 1, async () => {
      const socket = open(postHead('/v1/images/edits', largeEdit.length, formType))
      await new Promise((resolve) => socket.write(largeEdit, resolve))
      await sleep(200)
      socket.resetAndDestroy()
      return 'reset'
    }),
  'slow readers': () => {
    for (let reader = 0; reader < 200; reader += 1) readSlowly()
  },
  'invented keys': () =>
    repeat('invented key', 4, async () => {
      const invented = createClient(url, `sk-${randomBytes(24).toString('hex')}`)
      return (await invented.lookup(task_id)).status
    }),
}

function readSlowly(): void {
  const socket = open([`GET ${asset.pathname}${asset.search} HTTP/1.1`, 'Host: x'])
  socket.once('data', (chunk: Buffer) => count(`slow reader: ${chunk.toString('latin1', 9, 12)}`))
  socket.on('data', () => {
    socket.pause()
    setTimeout(() => socket.resume(), 1_000)
  })
}

for (const name of hostileAttacks) if (chosen.length === 0 || chosen.includes(name)) attacks[name]()
process.stdout.write('under way\n')
process.once('SIGTERM', () => {
  process.stdout.write(`${JSON.stringify(counts)}\n`, () => process.exit(0))
})
