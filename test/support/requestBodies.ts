import { redPixelPng } from './images.ts'

/** The smallest legal submit, changed as given. */
export function generateBody(given: Readonly<Record<string, unknown>> = {}) {
  return {
    model: 'familyb-image-2-vip',
    action: 'generate',
    prompt: 'A lighthouse at dusk',
    ...given,
  }
}

/** An edit of one red pixel, changed as given. */
export function editBody(given: Readonly<Record<string, unknown>> = {}) {
  return generateBody({ action: 'edit', input_images: [inputImage()], ...given })
}

export function inputImage(bytes: Buffer = redPixelPng, mimeType = 'image/png') {
  return { mime_type: mimeType, data: bytes.toString('base64') }
}
