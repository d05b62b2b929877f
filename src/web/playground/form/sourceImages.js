import { randomName } from '../session.js'

/** @import { ImageRequest } from './models.js' */

/**
 * A source image of an edit, checked and ready to be sent. `url` shows it on this page.
 * @typedef {{
 *   readonly id: string,
 *   readonly name: string,
 *   readonly mimeType: 'image/png' | 'image/jpeg' | 'image/webp',
 *   readonly blob: Blob,
 *   readonly url: string,
 * }} SourceImage
 *
 * A file as it was chosen, dropped or pasted, or the image of a task.
 * @typedef {{
 *   readonly name: string,
 *   readonly blob: Blob,
 * }} NewImage
 */

/** The limits of the API, so that the user learns of them before an upload instead of after it. */
export const sourceImagesMax = 16
const mebibyte = 1024 * 1024
export const sourceBytesMax = 20 * mebibyte
export const allSourcesBytesMax = 64 * mebibyte

/**
 * Adds files to source images. Returns the images that are within the limits, and for every other file the
 * reason.
 * @param {readonly SourceImage[]} present
 * @param {readonly NewImage[]} files
 */
export async function addSourceImages(present, files) {
  const images = [...present]
  /** @type {string[]} */
  const refusals = []
  for (const { name, blob } of files) {
    const mimeType = await imageType(blob)
    const totalBytes = images.reduce((sum, image) => sum + image.blob.size, blob.size)
    if (mimeType === undefined) refusals.push(`${name} is not a PNG, JPEG or WebP image.`)
    else if (blob.size > sourceBytesMax) {
      refusals.push(`${name} has ${sizeText(blob.size)}. One image may have 20 MiB.`)
    } else if (images.length >= sourceImagesMax) {
      refusals.push(`${name} is one too many. An edit takes ${sourceImagesMax} images.`)
    } else if (totalBytes > allSourcesBytesMax) {
      refusals.push(`${name} would make ${sizeText(totalBytes)}. All images may have 64 MiB.`)
    } else {
      const url = URL.createObjectURL(blob)
      images.push({ id: randomName(), name, mimeType, blob, url })
    }
  }
  return { images, refusals }
}

/**
 * Returns the type of an image by its first bytes, as the API does. The browser takes the type from the name of the
 * file, which may be wrong.
 * @param {Blob} blob
 */
async function imageType(blob) {
  const head = new Uint8Array(await blob.slice(0, 12).arrayBuffer())
  const text = String.fromCharCode(...head)
  if (text.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png'
  if (text.startsWith('\xff\xd8\xff')) return 'image/jpeg'
  if (text.startsWith('RIFF') && text.slice(8) === 'WEBP') return 'image/webp'
  return undefined
}

/**
 * Returns the image files of a drop or a paste.
 * @param {DataTransfer | null} transfer
 * @returns {readonly NewImage[]}
 */
export function filesOf(transfer) {
  return [...(transfer?.files ?? [])].map((file) => ({
    name: file.name || 'The pasted image',
    blob: file,
  }))
}

/**
 * Returns a size as text, such as `2.4 MiB`.
 * @param {number} bytes
 */
export function sizeText(bytes) {
  return bytes < mebibyte
    ? `${Math.max(1, Math.round(bytes / 1024))} KiB`
    : `${(bytes / mebibyte).toFixed(1)} MiB`
}

/**
 * Returns the body of a submit. The base64 texts of the images are joined as a Blob, which the browser may
 * keep outside of the memory of the page.
 * @param {ImageRequest} request
 * @param {readonly SourceImage[]} sources
 */
export async function submitBody(request, sources) {
  const document = JSON.stringify(request)
  if (request.action !== 'edit') return new Blob([document])
  const images = await Promise.all(
    sources.map(async ({ mimeType, blob }) => {
      return `{"mime_type":"${mimeType}","data":"${await base64Of(blob)}"}`
    }),
  )
  const list = images.flatMap((image, i) => (i === 0 ? [image] : [',', image]))
  return new Blob([document.slice(0, -1), ',"input_images":[', ...list, ']}'])
}

/**
 * @param {Blob} blob
 * @returns {Promise<string>}
 */
function base64Of(blob) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.addEventListener('load', () => {
      const url = typeof reader.result === 'string' ? reader.result : ''
      resolve(url.slice(url.indexOf(',') + 1))
    })
    reader.addEventListener('error', () => reject(reader.error))
    reader.readAsDataURL(blob)
  })
}
