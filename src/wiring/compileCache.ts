import { enableCompileCache } from 'node:module'
import { fileURLToPath } from 'node:url'

/**
 * Turns on Node's compile cache, which halves the start-up time of a process from the second start on and saves
 * some 25 MiB of it. The cache is in the checkout, where other users of the machine cannot write code into it.
 * If this user cannot write there either, Node runs without the cache. A static import would be compiled before
 * this call, so call it before importing the rest.
 */
export function useCompileCache(): void {
  enableCompileCache(
    fileURLToPath(new URL('../../node_modules/.cache/darkroom/code', import.meta.url)),
  )
}
