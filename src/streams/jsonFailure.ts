/** The keys and indices that lead from the top of a JSON document to one value. */
export type JsonPath = readonly (string | number)[]

/**
 * Why a JSON document cannot be accepted. `path` leads to the value that is wrong. No failure contains the
 * value itself.
 */
export type JsonFailure =
  | { readonly tag: 'empty' }
  | { readonly tag: 'syntax' }
  | { readonly tag: 'invalid_utf8' }
  | { readonly tag: 'duplicate_key'; readonly path: JsonPath }
  | { readonly tag: 'too_deep' }
  | { readonly tag: 'too_many_values' }
  | { readonly tag: 'number_out_of_range'; readonly path: JsonPath }
  /** The text contains NUL or a lone surrogate. PostgreSQL cannot store such a text. */
  | { readonly tag: 'unstorable_text'; readonly path: JsonPath }
  /** Everything besides the images is too large as sent, or its texts are too large without their escapes. */
  | { readonly tag: 'text_too_long'; readonly limitBytes: number }
  | { readonly tag: 'invalid_base64'; readonly path: JsonPath }
  | { readonly tag: 'image_too_large'; readonly path: JsonPath; readonly limitBytes: number }
  /** `path` leads to the image with which all images together exceed their limit. */
  | { readonly tag: 'images_too_large'; readonly path: JsonPath; readonly limitBytes: number }
  | { readonly tag: 'too_many_images'; readonly path: JsonPath; readonly limit: number }
