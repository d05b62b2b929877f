/** Keys and indices from the top of a JSON document to one value. */
export type JsonPath = readonly (string | number)[]

/**
 * Why a JSON document was not taken in. Paths name the value; nothing quotes its content. The reasons
 * are the attacks of research/reliability.md section 4, topics JSON and Base64.
 */
export type JsonIntakeFailure =
  | { readonly tag: 'empty' }
  | { readonly tag: 'syntax' }
  | { readonly tag: 'invalid_utf8' }
  | { readonly tag: 'duplicate_key'; readonly path: JsonPath }
  | { readonly tag: 'too_deep' }
  | { readonly tag: 'too_many_tokens' }
  | { readonly tag: 'number_out_of_range'; readonly path: JsonPath }
  /** NUL or a lone surrogate: PostgreSQL refuses both. */
  | { readonly tag: 'unstorable_text'; readonly path: JsonPath }
  | { readonly tag: 'text_too_long'; readonly limitBytes: number }
  | { readonly tag: 'invalid_base64'; readonly path: JsonPath }
  | { readonly tag: 'diverted_too_large'; readonly path: JsonPath; readonly limitBytes: number }
  /** The path is of the value that was too much. */
  | {
      readonly tag: 'diverted_total_too_large'
      readonly path: JsonPath
      readonly limitBytes: number
    }
  | { readonly tag: 'too_many_diverted'; readonly path: JsonPath; readonly limit: number }
