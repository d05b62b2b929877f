import { words } from 'words'
/** @import { ImageRequest } from './models.js' */

/**
 * A file as it was chosen, dropped or pasted, or the image of a task.
 * @typedef {{ readonly name: string, readonly blob: Blob }} NewImage
 * @typedef {NewImage & { readonly mimeType: 'image/png' | 'image/jpeg' | 'image/webp' }} SourceImage
 */

/**
 * Returns the type of an image by its first bytes, as the API does. The browser takes the type from the name of the
 * file, which may be wrong.
 * @param {Blob} blob
 */
export async function imageType(blob) {
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
    name: file.name || words.playground.pasted,
    blob: file,
  }))
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
