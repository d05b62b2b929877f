import { describe, expect, it } from 'vitest'
import { isAllowed, whyNotAddress } from '../../src/receivers/webhookAddress.ts'

/** Addresses in every notation, by whether webhooks reach them. */
const table: Readonly<Record<'always' | 'where the operator allows' | 'never', string>> = {
  always: `
    93.184.215.14 8.8.8.8 2606:4700::1111 ::ffff:8.8.8.8 64:ff9b::8.8.8.8 100.63.255.255
    100.128.0.0 172.15.255.255 172.32.0.0 192.167.255.255 168.63.129.15
  `,
  'where the operator allows': `
    127.0.0.1 127.255.255.254 0.0.0.0 0.1.2.3 10.0.0.1 100.64.0.1 172.16.0.1 172.31.255.255
    192.168.1.1 192.0.0.8 192.0.2.1 198.18.0.1 198.51.100.1 203.0.113.1 ::1 :: fc00::1
    fd12:3456::1 ::ffff:127.0.0.1 ::ffff:7f00:1 0:0:0:0:0:ffff:10.1.2.3 64:ff9b::192.168.0.1
  `,
  never: `
    169.254.169.254 169.254.170.2 169.254.0.1 168.63.129.16 100.100.100.200 192.0.0.192
    224.0.0.1 240.0.0.1 255.255.255.255 fe80::1 fe80::1%eth0 febf::1 fec0::1 ff02::1 100::1 4000::1
    fd00:ec2::23 fd00:ec2::254 fd00:c1::a9fe:a9fe fd00:42::42 fd20:ce::254
    ::ffff:169.254.169.254 ::ffff:a9fe:a9fe ::169.254.169.254 ::ffff:0:169.254.169.254
    64:ff9b::169.254.169.254 ::127.0.0.1 ::ffff:0:10.0.0.1 ::ffff:0:127.0.0.1 2002:7f00:1:: 2002:808:808::1
    2001:0:808:808::f7f7:f7f7 64:ff9b:1::8.8.8.8 2001:db8::1 3fff::1 localhost 1.2.3
  `,
}

describe.each(Object.entries(table))('webhooks %s reach', (reached, addresses) => {
  it.each(addresses.trim().split(/\s+/))('%j', (address) => {
    expect(isAllowed(address, 'allow')).toBe(reached !== 'never')
    expect(isAllowed(address, 'refuse')).toBe(reached === 'always')
  })
})

it('webhooks never reach what is no address', () => expect(isAllowed('', 'allow')).toBe(false))

describe('the address of a webhook', () => {
  it.each([
    'https://example.com/hooks?a=b',
    'https://example.com:8443/',
    'https://[2606:4700::1111]/',
  ])('can be %s [hook-19]', (url) => {
    expect(whyNotAddress(url, 'refuse')).toBeUndefined()
    expect(whyNotAddress(url, 'allow')).toBeUndefined()
  })

  it.each([
    'http://example.com/',
    'https://127.0.0.1/',
    'https://127.1/',
    'https://2130706433/',
    'https://0177.0.0.1/',
    'https://0x7f000001/',
    'https://[::ffff:127.0.0.1]/',
    'https://api.LOCALHOST./',
  ])('can be %s only where private addresses are allowed [hook-19]', (url) => {
    expect(whyNotAddress(url, 'refuse')).toBeDefined()
    expect(whyNotAddress(url, 'allow')).toBeUndefined()
  })

  it.each([
    'https://169.254.169.254/latest/meta-data/',
    'https://2852039166/',
    'https://[::ffff:a9fe:a9fe]/',
    'https://[2002:7f00:1::]/',
    'https://[64:ff9b:1::8.8.8.8]/',
    'https://user@example.com/',
    'https://:password@example.com/',
    'https://@example.com/',
    'ftp://example.com/',
    'example.com',
    ' https://example.com/',
    'ht\ttps://example.com/',
    'https://example.com\\@127.0.0.1/',
    'https://[fe80::1%25eth0]/',
    'https://999.1.1.1/',
    `https://example.com/${'x'.repeat(2_048)}`,
  ])('can never be %j [hook-20]', (url) => {
    expect(whyNotAddress(url, 'allow')).toBeDefined()
    expect(whyNotAddress(url, 'refuse')).toBeDefined()
  })
})
