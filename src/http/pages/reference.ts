import type { Page } from './pageFiles.ts'
import { createPage } from './pageFiles.ts'

/** The guide and the reference of the API: the page, `/docs`, and what it loads, `/docs/…`. */
export function createReference(): Page {
  return createPage({
    folder: new URL('../../web/docs/', import.meta.url),
    libraries: {
      'library/swagger-ui.css': 'swagger-ui-dist/swagger-ui.css',
      'library/swagger-ui.js': 'swagger-ui-dist/swagger-ui-bundle.js',
    },
    policy: () => policy,
  })
}

/**
 * The page loads and calls its own origin alone. The icons of Swagger UI are in its style sheet (`data:`), and
 * images that a request returned are shown from memory (`blob:`). No inline script or style is allowed.
 */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
]
