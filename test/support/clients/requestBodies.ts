import { redPixelPng } from '../images.ts'

/** The smallest valid submit, with the given fields added or replaced. */
export function generateBody(given: Readonly<Record<string, unknown>> = {}) {
  return {
    model: 'familyb-image-2-vip',
    action: 'generate',
    prompt: 'A lighthouse at dusk',
    ...given,
  }
}

/** An edit of one red pixel, with the given fields added or replaced. */
export function editBody(given: Readonly<Record<string, unknown>> = {}) {
  return generateBody({ action: 'edit', input_images: [inputImage()], ...given })
}

/** One element of `input_images`. */
export function inputImage(bytes: Buffer = redPixelPng, mimeType = 'image/png') {
  return { mime_type: mimeType, data: bytes.toString('base64') }
}

const boundary = 'form-boundary-7'

export const formType = `multipart/form-data; boundary=${boundary}`

export type FormPart = {
  readonly name?: string
  readonly filename?: string
  readonly type?: string
  /** What is around the name. Default: a quotation mark. */
  readonly quote?: string
  readonly value: string | Uint8Array
}

/** Builds a multipart body byte by byte, so that tests can send what no client library would. */
export function formBody(parts: readonly FormPart[]): Buffer {
  const pieces = parts.flatMap(({ name, filename, type, value, quote = '"' }) => [
    Buffer.from(`--${boundary}\r\nContent-Disposition: form-data`),
    Buffer.from(name === undefined ? '' : `; name=${quote}${name}${quote}`),
    Buffer.from(filename === undefined ? '' : `; filename="${filename}"`),
    Buffer.from(type === undefined ? '' : `\r\nContent-Type: ${type}`),
    Buffer.from('\r\n\r\n'),
    Buffer.from(value),
    Buffer.from('\r\n'),
  ])
  return Buffer.concat([...pieces, Buffer.from(`--${boundary}--\r\n`)])
}
