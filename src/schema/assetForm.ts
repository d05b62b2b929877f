import { z } from 'zod'
import type { RequestFailure } from '../domain/failure.ts'
import type { ImageMimeType } from '../domain/models/models.ts'
import { invalidValue } from '../domain/requestFailures.ts'
import type { Result } from '../domain/result.ts'
import { fail, succeed } from '../domain/result.ts'
import type { ImageVariant } from '../domain/tasks/imageVariant.ts'
import { variantOf } from '../domain/tasks/imageVariant.ts'

/** What an address asks for: the image, what the vendor sent where the image was converted from it, or a variant. */
export type AssetForm = 'image' | 'original' | ImageVariant

/** The parameters that may stand behind the signature of an address. */
export const formParameters = {
  width: z.enum(['128', '256', '512', '1024'], { error: 'it can be 128, 256, 512 or 1024' }),
  format: z.enum(['png', 'jpeg', 'webp'], { error: 'it can be png, jpeg or webp' }),
  original: z.literal('true', { error: 'it can be true' }),
}

const { width, format } = formParameters
/** The parameters of a variant. Without both, the image itself is meant. */
export const variantQuery = z.strictObject({ width: width.optional(), format: format.optional() })

type Name = keyof typeof formParameters

/** A parameter behind the signature of an address. Its value is unchecked. */
export type FormParameter = [name: Name, value: string]

export function isFormParameter(
  parameter: [name: string, value: string],
): parameter is FormParameter {
  return Object.hasOwn(formParameters, parameter[0])
}

/** Which parameters may stand before each one. */
const mayPrecede: Readonly<Record<Name, readonly Name[]>> = {
  width: [],
  format: ['width'],
  original: [],
}

/**
 * Returns what the parameters ask for, of an image of this type. The failure names the first parameter with a wrong
 * value, or that may not stand behind those before it.
 */
export function readAssetForm(
  given: readonly FormParameter[],
  imageType: ImageMimeType,
): Result<AssetForm, RequestFailure> {
  const before: Name[] = []
  for (const [name, value] of given) {
    const { error } = formParameters[name].safeParse(value)
    if (error) return fail(invalidValue(name, error.issues[0]?.message ?? ''))
    if (before.some((other) => !mayPrecede[name].includes(other))) {
      const why = 'width comes before format, each once, and original comes alone'
      return fail(invalidValue(name, why))
    }
    before.push(name)
  }
  if (before.length === 0) return succeed('image')
  if (before.includes('original')) return succeed('original')
  return succeed(variantOf(variantQuery.parse(Object.fromEntries(given)), imageType))
}
