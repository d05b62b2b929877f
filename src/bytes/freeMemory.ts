/**
 * Frees the memory of a buffer at once. The buffer is empty from then on, so nothing may read or write it any more, in
 * another thread either. V8 collects its whole heap for every 64 MiB of buffers that wait to be freed, which takes
 * longer than all other work on a body or an image of a megabyte. Leaves small buffers to V8, because Node cuts some of
 * them from a pool that they share.
 */
export function freeMemory({ buffer }: Uint8Array): void {
  if (!(buffer instanceof ArrayBuffer) || buffer.byteLength <= Buffer.poolSize) return
  if (!buffer.detached) buffer.transfer(0)
}
