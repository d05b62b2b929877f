import { enableCompileCache } from 'node:module'
import { fileURLToPath } from 'node:url'

/**
 * Turns on Node's compile cache, which halves the start-up time of a process from the second start on and saves
 * some 25 MiB of memory. The cache is in the checkout, because other users of the machine cannot write code there.
 * If this user cannot write there either, Node runs without the cache. Call this function first and import the rest
 * dynamically, because a static import would be compiled before this call.
 */
export function useCompileCache(): void {
  enableCompileCache(
    fileURLToPath(new URL('../../node_modules/.cache/darkroom/code', import.meta.url)),
  )
}
