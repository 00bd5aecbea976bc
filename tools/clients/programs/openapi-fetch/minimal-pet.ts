// Compiles, because what has a default may be left out.
import type { components } from './client/schema.ts'

export const pet: components['schemas']['NewPet'] = {
  name: 'Bella',
  categoryId: 1
}
