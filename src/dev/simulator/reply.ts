/** A complete HTTP answer, before any fault of delivery. */
export type Reply = {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export function jsonReply(
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Reply {
  return {
    status,
    headers: { 'content-type': 'application/json; charset=UTF-8', ...headers },
    body: JSON.stringify(body),
  }
}

/** What a proxy or load balancer in front of the vendor answers: no vendor's error body. */
export function htmlReply(
  status: number,
  title: string,
  headers: Readonly<Record<string, string>> = {},
): Reply {
  const body = `<html>\r\n<head><title>${title}</title></head>\r\n<body>\r\n<center><h1>${title}</h1></center>\r\n</body>\r\n</html>\r\n`
  return { status, headers: { 'content-type': 'text/html', ...headers }, body }
}
