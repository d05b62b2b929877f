/** The keys and indices that lead from the top of a JSON document to one value. */
export type JsonPath = readonly (string | number)[]

/**
 * Why a JSON document cannot be accepted. `path` leads to the value that is wrong, and is empty where that is the whole
 * document. `why` goes on after the name of the value. It does not quote the value.
 */
export type JsonFailure =
  | {
      readonly tag: 'invalid_json' | 'invalid_value' | 'invalid_image'
      readonly path: JsonPath
      readonly why: string
    }
  /** Everything besides the images is too large as sent, or its texts are too large without their escapes. */
  | { readonly tag: 'text_too_long'; readonly limitBytes: number }

export function invalidJson(why: string, path: JsonPath = []): JsonFailure {
  return { tag: 'invalid_json', path, why }
}
