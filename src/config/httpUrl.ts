/** The address of a server by what it listens on; IPv6 stands in brackets (RFC 3986 section 3.2.2). */
export function httpUrl(host: string, port: number): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}
