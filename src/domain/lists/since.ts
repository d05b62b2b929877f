/** The first instant of a period: ISO 8601 text, or so many milliseconds before PostgreSQL's present time. */
export type Since = string | { readonly agoMs: number }
