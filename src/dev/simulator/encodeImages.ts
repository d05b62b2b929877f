import type { DrawImage } from './drawImage.ts'
import type { Fault, ImageFault } from './faults.ts'
import { isImageFault } from './faults.ts'
import { assertNever } from '../../domain/assertNever.ts'
import type { ImageFormat, ImageOrder } from './imageOrder.ts'

/** An image as it goes into the answer: `data` is base64 (or, on request, nearly). */
export type EncodedImage = { readonly mimeType: string; readonly data: string }

/** Draws as many images as the answer is to hold, spoilt in the way the fault asks for. */
export async function encodeImages(
  order: ImageOrder,
  count: number,
  fault: Fault | null,
  draw: DrawImage,
): Promise<EncodedImage[]> {
  const images: EncodedImage[] = []
  for (let index = 0; index < count; index += 1) {
    const bytes = Buffer.from(await draw(order, index, formatOf(order, fault)))
    const data = isImageFault(fault) ? spoil(bytes, fault) : bytes.toString('base64')
    images.push({ mimeType: `image/${order.format}`, data })
  }
  return images
}

function formatOf(order: ImageOrder, fault: Fault | null): ImageFormat {
  return fault?.kind === 'wrong-mime' ? (fault.as ?? 'jpeg') : order.format
}

function spoil(bytes: Buffer, fault: ImageFault): string {
  switch (fault.kind) {
    case 'bad-base64': {
      const data = bytes.toString('base64')
      const middle = Math.floor(data.length / 2)
      return `${data.slice(0, middle)}*!*${data.slice(middle)}`
    }
    case 'not-image':
      return Buffer.from('The simulator was asked to send something else.').toString('base64')
    case 'cut-image':
      return bytes.subarray(0, Math.floor(bytes.length / 2)).toString('base64')
    case 'wrong-mime':
      return bytes.toString('base64')
    default:
      return assertNever(fault)
  }
}
