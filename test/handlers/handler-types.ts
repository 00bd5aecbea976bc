// The compiler is the test, in `npm run check`.
import type { Implemented } from '../../src/handlers/index.ts'

declare const withoutGetPet: Omit<Implemented, 'getPet'>

// @ts-expect-error the handler of getPet is lost
export const incomplete: Implemented = withoutGetPet
