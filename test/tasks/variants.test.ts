import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { convertBlob } from '../../src/bytes/convertImage.ts'
import { answerImageKey, answerVariantKey } from '../../src/domain/upstream/answerMeta.ts'
import { createVariants } from '../../src/tasks/variants.ts'
import type { MemoryBlobs } from '../support/blobs/memoryBlobs.ts'
import { createMemoryBlobs } from '../support/blobs/memoryBlobs.ts'
import { noisePng } from '../support/images.ts'

const small = { width: 128, mimeType: 'image/webp' } as const
const stays = new AbortController().signal
const original = await noisePng(300, 200)
let blobs: MemoryBlobs
/** The uploads that somebody has deleted. */
let deleted: Set<string>
let images = 0

beforeEach(() => {
  blobs = createMemoryBlobs()
  deleted = new Set()
})

/** Stores an image of an account. */
async function imageOf(accountId: string) {
  const answerId = `an${(images += 1)}`
  await blobs.put([answerImageKey(answerId), original])
  return { accountId, answerId }
}

const isUploadKept = async (answerId: string) => !deleted.has(answerId)

/** Variants whose conversions a test ends. `begun` are the prefixes of their images, in the order of their begin. */
function heldVariants() {
  const begun: string[] = []
  const ends: (() => void)[] = []
  const variants = createVariants({
    blobs: {
      ...blobs,
      read: async (key) => {
        begun.push(key.split('/')[0] ?? '')
        return await blobs.read(key)
      },
    },
    isUploadKept,
    convert: async () => {
      await new Promise<void>((resolve) => ends.push(resolve))
      return Buffer.from('small')
    },
  })
  const converts = () => vi.waitFor(() => expect(ends).not.toEqual([]))
  const end = async () => {
    await converts()
    ends.shift()?.()
  }
  return { variants, begun, converts, end }
}

describe('a missing variant', () => {
  it('is made once, however many read it at once, and never again [asset-7]', async () => {
    const image = await imageOf('a')
    let made = 0
    const convert: typeof convertBlob = async (...given) => {
      made += 1
      return await convertBlob(...given)
    }
    const variants = createVariants({ blobs, isUploadKept, convert })
    const read = () => variants.bytesOf(image, small, stays)
    const lengths = await Promise.all(Array.from({ length: 64 }, read))
    const stored = blobs.content.get(answerVariantKey(image.answerId, small))
    expect(new Set([...lengths, await read()])).toEqual(new Set([stored?.length]))
    expect(made).toBe(1)
  })

  it('is made by at most two makers, and accounts take turns [asset-7]', async () => {
    const { variants, begun, end } = heldVariants()
    const many = await Promise.all(Array.from({ length: 6 }, () => imageOf('many')))
    const single = await imageOf('single')
    const reads = [...many, single].map((image) => variants.bytesOf(image, small, stays))
    for (let ended = 0; ended < reads.length; ended += 1) {
      await vi.waitFor(() => expect(begun.length).toBe(Math.min(reads.length, ended + 2)))
      await end()
    }
    expect(await Promise.all(reads)).toEqual(reads.map(() => 5))
    const [first, second, ...others] = many.map(({ answerId }) => answerId)
    expect(begun).toEqual([first, second, single.answerId, ...others])
  })

  it('is told to be busy after 20 seconds, and no longer made once nobody waits [asset-7]', async () => {
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    const { variants, begun, end } = heldVariants()
    const [one, two, three] = [await imageOf('a'), await imageOf('b'), await imageOf('c')]
    const read = (image: typeof one, signal = stays) => variants.bytesOf(image, small, signal)
    const reads = [one, two, three].map((image) => read(image))
    const client = new AbortController()
    const left = read(await imageOf('d'), client.signal)
    await vi.advanceTimersByTimeAsync(10_000)
    client.abort()
    expect(await left).toBe('busy')
    const last = await imageOf('e')
    const late = read(last)
    await vi.advanceTimersByTimeAsync(10_000)
    expect(await Promise.all(reads)).toEqual(['busy', 'busy', 'busy'])
    vi.useRealTimers()
    for (let ended = 0; ended < 3; ended += 1) await end()
    expect(await late).toBe(5)
    // Those that had begun are made to their end. The others are not begun.
    expect(begun).toEqual([one, two, last].map(({ answerId }) => answerId))
    expect(await read(one)).toBe(5)
  })

  it('is removed by its maker when its image went while it was made [asset-8]', async () => {
    const { variants, converts, end } = heldVariants()
    const image = await imageOf('a')
    const other = await imageOf('a')
    const read = variants.bytesOf(image, small, stays)
    await converts()
    deleted.add(image.answerId)
    await blobs.deletePrefix(image.answerId)
    await end()
    expect(await read).toBe('gone')
    expect([...blobs.content.keys()]).toEqual([answerImageKey(other.answerId)])
  })

  it('is gone with its image, and no error, when the deletion takes its folder away [asset-8]', async () => {
    const image = await imageOf('a')
    const put = async (): Promise<never> => {
      deleted.add(image.answerId)
      throw Object.assign(new Error('the folder is gone'), { code: 'ENOENT' })
    }
    const variants = createVariants({
      blobs: { ...blobs, put },
      isUploadKept,
      convert: convertBlob,
    })
    await expect(variants.bytesOf(image, small, stays)).resolves.toBe('gone')
  })

  it('stays as the first of two processes has stored it', async () => {
    const image = await imageOf('a')
    const key = answerVariantKey(image.answerId, small)
    const { variants, converts, end } = heldVariants()
    const read = variants.bytesOf(image, small, stays)
    await converts()
    await blobs.put([key, Buffer.from('of another process')])
    await end()
    expect(await read).toBe(18)
    expect(blobs.content.get(key)?.toString()).toBe('of another process')
  })
})
