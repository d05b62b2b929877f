import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { chromium } from 'playwright-core'

const places = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']

/** Why browser tests are skipped on this machine, or `undefined` when it has a Chromium. */
export const noChromium = places.some((place) => existsSync(place))
  ? undefined
  : `Skipped: no Chromium at ${places.join(', ')}.`

/** The browser must call nobody but the service. Playwright makes a profile folder for each start. */
const flags = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--in-process-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  // The suggestions of the address bar are pages of their own, which take half the CPU of a start. The others are those
  // of Playwright's features that matter here: Chromium takes only the last list.
  '--disable-features=WebUIOmniboxPopup,WebUIOmniboxAimPopup,PaintHolding,HttpsUpgrades,OptimizationHints',
]

export async function launchChromium(): Promise<Browser> {
  const executablePath = places.find((place) => existsSync(place))
  if (executablePath === undefined) throw new Error(noChromium)
  // A simulator that drew an image in this process has set this variable for itself. Chromium would find no font by
  // it, and draw no text.
  const { FONTCONFIG_FILE: _fonts, ...environment } = process.env
  return chromium.launch({ executablePath, args: flags, env: { ...environment } })
}

/** The size of a page that no test has changed, in pixels. */
export const usualSize = { width: 1280, height: 900 }

export type Visit = Awaited<ReturnType<typeof visit>>

/** Opens a page in a context of its own, which shares no storage with others. */
export async function visit(browser: Browser, url: string, options: BrowserContextOptions = {}) {
  const context = await browser.newContext({
    viewport: usualSize,
    reducedMotion: 'reduce',
    ...options,
  })
  const page = await context.newPage()
  page.setDefaultTimeout(40_000)
  /** Errors and warnings of the console, and errors that no code caught. */
  const complaints: string[] = []
  /** The addresses of all requests. */
  const requests: string[] = []
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text())
  })
  page.on('pageerror', (error) => complaints.push(String(error)))
  page.on('request', (request) => requests.push(request.url()))
  await page.goto(url)
  return { page, complaints, requests, close: () => context.close() }
}

const axe = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8')

type Violation = {
  readonly id: string
  readonly impact: string
  readonly nodes: readonly { readonly html: string }[]
}

/** Returns what axe finds serious or critical in the page as it is now, with the elements. */
export async function seriousProblems(page: Page): Promise<readonly string[]> {
  if (await page.evaluate('window.axe === undefined')) await page.evaluate(axe)
  const { violations } = await page.evaluate<{ readonly violations: readonly Violation[] }>(
    'axe.run({ resultTypes: ["violations"] })',
  )
  return violations
    .filter(({ impact }) => ['serious', 'critical'].includes(impact))
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`)
}
