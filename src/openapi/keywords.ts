import type { FuncKeywordDefinition } from 'ajv'

/** Turns the text of a parameter into the type of its schema; text that is not of the type stays and fails it. */
export const fromText: FuncKeywordDefinition = {
  keyword: 'fromText',
  modifying: true,
  errors: false,
  validate: (type: string, data: unknown, _schema: unknown, context) => {
    if (context !== undefined) context.parentData[context.parentDataProperty] = convert(type, data)
    return true
  }
}

function convert(type: string, data: unknown): unknown {
  if (typeof data !== 'string') return data
  if (type === 'array') return [data]
  if (type === 'list') return data.split(',').map((item) => item.trim())
  if (type === 'boolean') return data === 'true' ? true : data === 'false' ? false : data
  const isNumber = type === 'integer' ? /^-?\d+$/.test(data) : /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(data)
  const number = Number(data)
  if (!isNumber || !Number.isFinite(number)) return data
  return type === 'integer' && !Number.isSafeInteger(number) ? BigInt(data) : number
}

interface Int64Rules {
  isText: boolean
  minimum?: number
  maximum?: number
  exclusiveMinimum?: number
  exclusiveMaximum?: number
  multipleOf?: number
  values?: number[]
  nullable?: boolean
}

/** A whole number of 64 bits, from text, number or bigint, kept exactly: it becomes a bigint. */
export const int64: FuncKeywordDefinition = {
  keyword: 'int64',
  modifying: true,
  compile: (rules: Int64Rules) => {
    const validate: ReturnType<NonNullable<FuncKeywordDefinition['compile']>> = (data: unknown, context) => {
      if (data === null && rules.nullable) return true
      const value = toBigInt(data, rules.isText)
      const message = value === undefined ? 'must be a whole number of 64 bits' : brokenRule(rules, value)
      validate.errors = message === undefined ? [] : [{ keyword: 'int64', message, params: {} }]
      if (context !== undefined && value !== undefined) context.parentData[context.parentDataProperty] = value
      return message === undefined
    }
    return validate
  }
}

function toBigInt(data: unknown, isText: boolean): bigint | undefined {
  const isWhole =
    typeof data === 'bigint' ||
    Number.isSafeInteger(data) ||
    (isText && typeof data === 'string' && /^-?\d+$/.test(data))
  if (!isWhole) return undefined
  const value = BigInt(data as bigint | number | string)
  return BigInt.asIntN(64, value) === value ? value : undefined
}

function brokenRule(rules: Int64Rules, value: bigint): string | undefined {
  if (rules.minimum !== undefined && value < rules.minimum) return `must be >= ${rules.minimum}`
  if (rules.maximum !== undefined && value > rules.maximum) return `must be <= ${rules.maximum}`
  if (rules.exclusiveMinimum !== undefined && value <= rules.exclusiveMinimum)
    return `must be > ${rules.exclusiveMinimum}`
  if (rules.exclusiveMaximum !== undefined && value >= rules.exclusiveMaximum)
    return `must be < ${rules.exclusiveMaximum}`
  if (rules.multipleOf !== undefined && value % BigInt(rules.multipleOf) !== 0n)
    return `must be multiple of ${rules.multipleOf}`
  if (rules.values !== undefined && !rules.values.some((one) => BigInt(one) === value))
    return `must be one of: ${rules.values.join(', ')}`
  return undefined
}

/**
 * `uniqueItems` in linear time: Ajv compares each object with each other, which takes 110 ms for 1,000 of them. It runs after
 * the keywords that convert items, such as `int64`.
 */
export const uniqueItems: FuncKeywordDefinition = {
  keyword: 'uniqueItems',
  post: true,
  compile: (isUnique: boolean) => {
    const validate: ReturnType<NonNullable<FuncKeywordDefinition['compile']>> = (data: unknown) => {
      if (!isUnique || !Array.isArray(data)) return true
      const seen = new Map<string, number>()
      for (const [index, item] of data.entries()) {
        const text = canonical(item)
        const other = seen.get(text)
        if (other !== undefined) {
          const message = `must not have the same item twice: [${other}] and [${index}]`
          validate.errors = [{ keyword: 'uniqueItems', message, params: {} }]
          return false
        }
        seen.set(text, index)
      }
      return true
    }
    return validate
  }
}

/** A text that is the same for equal JSON values and no others. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`
  if (typeof value !== 'object' || value === null) return typeof value === 'bigint' ? `${value}` : JSON.stringify(value)
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${canonical(member)}`).join()}}`
}
