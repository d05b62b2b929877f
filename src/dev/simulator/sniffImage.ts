const signatures: readonly (readonly [string, (bytes: Uint8Array) => boolean])[] = [
  ['image/png', (b) => startsWith(b, 0, [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])],
  ['image/jpeg', (b) => startsWith(b, 0, [0xff, 0xd8, 0xff])],
  [
    'image/webp',
    (b) => startsWith(b, 0, [0x52, 0x49, 0x46, 0x46]) && startsWith(b, 8, [0x57, 0x45, 0x42, 0x50]),
  ],
]

/** The image type the first twelve bytes tell; null when it is none that the vendors take. */
export function sniffImage(bytes: Uint8Array): string | null {
  return signatures.find(([, matches]) => matches(bytes))?.[0] ?? null
}

function startsWith(bytes: Uint8Array, offset: number, expected: readonly number[]): boolean {
  return expected.every((byte, index) => bytes[offset + index] === byte)
}
