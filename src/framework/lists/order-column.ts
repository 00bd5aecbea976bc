/**
 * The column that orders the list: unique, without NULL, of any type that has
 * an order and a text. Items without a property `id` have no default.
 */
export type OrderColumn<Item> = Item extends { id: unknown }
  ? { orderColumn?: string }
  : { orderColumn: string }
