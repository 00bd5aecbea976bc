/** Random digits of an API key that people may see. */
export const shownDigits = 8

/** A character in hexadecimal after any number of percent-encodings. */
const encoded = (hex: string) => `%(?:25)*(?:${hex})`

/** Matches a character as it is, or percent-encoded as a URL may have it. */
function characterOrEncoded(character: string): string {
  const codes = [character.toLowerCase(), character.toUpperCase()].map((one) =>
    one.charCodeAt(0).toString(16)
  )
  return `(?:${character}|${encoded(codes.join('|'))})`
}

const digit = `(?:[0-9a-f]|${encoded('3[0-9]|[46][1-6]')})`

/**
 * The pattern of an API key with this prefix in a text or URL, for a match in
 * any case. Its first group is what `keys list` shows. The logs of the service
 * and of the proxy use it.
 */
export function apiKeyPattern(apiKeyPrefix: string): string {
  const prefix = Array.from(apiKeyPrefix, characterOrEncoded).join('')
  return `(${prefix}${digit}{${shownDigits}})${digit}+`
}
