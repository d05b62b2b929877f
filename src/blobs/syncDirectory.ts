import { open } from 'node:fs/promises'

/** Flushes a directory to the disk: without it a power cut may forget the names just made in it. */
export async function syncDirectory(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
