// Takes the pictures of the playground in docs/img from a running `npm start`, with images made for them:
//   npx node test/support/web/takePictures.ts [--url http://127.0.0.1:8080] [--key .data/demo-key] [--out docs/img]
//     [--width 1360] [--height 1000]
// It writes playground.png and playground-dark.png. Each run makes five small images for the account of the key.
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import sharp from 'sharp'
import { launchChromium, visit } from './browser.ts'
import { studioOf } from './studio.ts'

const { values } = parseArgs({
  options: {
    url: { type: 'string', default: 'http://127.0.0.1:8080' },
    key: { type: 'string', default: '.data/demo-key' },
    out: { type: 'string', default: 'docs/img' },
    width: { type: 'string', default: '1360' },
    height: { type: 'string', default: '1000' },
  },
})

const model = 'familya-3.1-flash-lite-image'
const prompts = [
  ['Paper boats on a canal, seen from above', '1:1'],
  ['A desk by the window, first snow outside', '3:2'],
  ['Harbour in the fog', '1:1'],
  ['A lighthouse at dusk', '16:9'],
] as const
const edit = 'Make it night, with the lamp lit'

const secret = (await readFile(values.key, 'utf8')).trim()
const browser = await launchChromium()
try {
  const { page } = await visit(browser, values.url, {
    viewport: { width: Number(values.width), height: Number(values.height) },
    deviceScaleFactor: 2,
    colorScheme: 'light',
  })
  page.setDefaultTimeout(60_000)
  await page.getByLabel('API key').fill(secret)
  await page.keyboard.press('Enter')
  const studio = await studioOf(page)
  for (const [prompt, ratio] of prompts) {
    await studio.choose(new RegExp(model))
    await studio.choose(ratio)
    await studio.submit(model, prompt)
    await page.getByRole('figure').getByText(prompt).waitFor()
    await studio.image.waitFor()
    process.stdout.write(`Made: ${prompt}\n`)
  }
  await studio.press('Edit this')
  await page.getByRole('img', { name: 'The image above' }).waitFor()
  await studio.submit(model, edit)
  await page.getByRole('figure').getByText(edit).waitFor()
  await studio.image.waitFor()
  process.stdout.write(`Edited: ${edit}\n`)
  for (const [name, colorScheme] of [
    ['playground', 'light'],
    ['playground-dark', 'dark'],
  ] as const) {
    await page.emulateMedia({ colorScheme })
    await page.mouse.move(0, 0)
    await page.evaluate('scrollTo(0, 0); document.querySelector(".composer").scrollTop = 0')
    await page.evaluate('Promise.all([...document.images].map((image) => image.decode()))')
    await save(name, await page.screenshot())
  }
} finally {
  await browser.close()
}

/** Writes a picture with 256 colours. Its file has a quarter of the size, and hardly anybody sees a difference. */
async function save(name: string, bytes: Buffer): Promise<void> {
  await mkdir(values.out, { recursive: true })
  const small = await sharp(bytes).png({ palette: true, quality: 90, effort: 10 }).toBuffer()
  const path = join(values.out, `${name}.png`)
  await writeFile(path, small)
  process.stdout.write(`${path}: ${Math.round(small.byteLength / 1024)} KiB\n`)
}
