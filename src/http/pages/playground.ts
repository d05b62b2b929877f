import { createHash } from 'node:crypto'
import type { Page } from './pageFiles.ts'
import { createPage } from './pageFiles.ts'

/** The playground: the page, `/`, and what it loads, `/playground/…`. */
export function createPlayground(): Page {
  return createPage({
    folder: new URL('../../web/playground/', import.meta.url),
    libraries: {
      'library/preact.js': 'preact',
      'library/hooks.js': 'preact/hooks',
      'library/htm.js': 'htm',
      'library/html.js': 'htm/preact',
    },
    policy,
  })
}

/**
 * Returns the directives that confine the page. It loads from its own origin alone, and shows images from memory
 * (`blob:`). No inline script runs except the import map, which is named by its digest. So a text of a client
 * or of an upstream could not run as script even if the page put it into its HTML.
 */
function policy(html: string): readonly string[] {
  const importMap = /<script type="importmap">([\s\S]*?)<\/script>/.exec(html)?.[1] ?? ''
  const digest = createHash('sha256').update(importMap).digest('base64')
  return [
    "default-src 'none'",
    `script-src 'self' 'sha256-${digest}'`,
    "style-src 'self'",
    "img-src 'self' blob:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ]
}
