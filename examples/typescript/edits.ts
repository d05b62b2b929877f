/**
 * Changes an image step by step: each prompt edits what the one before it made.
 *
 *     node edits.ts photo.png images "Make it night" "Let it snow"
 *
 * Start it again after a crash, or with a further prompt: steps that are done are not bought again.
 */
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Darkroom } from 'darkroom-client'

const model = process.env['MODEL'] ?? 'familyb-image-2-vip'
const [source = '', folder = '', ...prompts] = process.argv.slice(2)
const darkroom = new Darkroom()
await mkdir(folder, { recursive: true })
let image = source
for (const [n, prompt] of prompts.entries()) {
  const bytes = await readFile(image)
  const idempotencyKey = createHash('sha256')
    .update(bytes)
    .update(`\0${model}\0${prompt}`)
    .digest('hex')
  const path = join(folder, `${n + 1}-${idempotencyKey.slice(0, 8)}.png`)
  if (!existsSync(path)) {
    const edited = await darkroom.images.edit(
      { model, prompt, images: [bytes] },
      { idempotencyKey },
    )
    await edited.save(path)
  }
  console.log(path)
  image = path
}
