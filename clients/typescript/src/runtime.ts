import type * as files from 'node:fs/promises'

/** The version of this package. */
export const version = '0.1.0'

/** Returns a variable of the environment, where there is one. */
export function environmentVariable(name: string): string | undefined {
  return 'process' in globalThis ? globalThis.process.env[name] : undefined
}

/** Names this client and what runs it. Browsers name themselves. */
export function userAgent(): string | undefined {
  // Node 20 has no `navigator`.
  const runtime =
    'navigator' in globalThis ? navigator.userAgent : `Node.js/${process.versions.node}`
  return runtime.startsWith('Mozilla/') ? undefined : `darkroom-client/${version} ${runtime}`
}

/**
 * Loads a module of Node, which Deno and Bun have too. Bundlers for browsers do not look behind the template, so
 * they leave it alone.
 */
export function filesModule(): Promise<typeof files> {
  const scheme = 'node'
  return import(/* webpackIgnore: true */ /* @vite-ignore */ `${scheme}:fs/promises`)
}
