import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

const isHopCount = (text: string) => /^\d{1,3}$/.test(text)

/** Whether the text is an IP address, or a network such as 10.0.0.0/8. */
function isNetwork(text: string): boolean {
  const [address = '', prefixLength] = text.split('/', 2)
  // ipaddr.js alone accepts 10.1 as an address.
  if (isIP(address) === 0) return false
  // Fastify rejects the prefix length 0.
  const isEverything = Number(prefixLength) === 0

  return ipaddr.isValid(text) || (ipaddr.isValidCIDR(text) && !isEverything)
}

/** Whether TRUST_PROXY may have this value. */
export const isTrustProxy = (text: string): boolean =>
  isHopCount(text) || text.split(/, */).every(isNetwork)

/** TRUST_PROXY as the option `trustProxy` of Fastify. */
export function trustedProxies(
  text = ''
): string | ((address: string, hop: number) => boolean) {
  if (!isHopCount(text)) return text
  // Fastify would trust no proxy at all if it got the number.
  const trustedHops = Number(text)
  return (_address, hop) => hop < trustedHops
}
