import type { Dialect } from 'mortise/sdk';

/**
 * A subquery over a list of objects that is bound as one JSON array: its column `value` holds one object, whose members
 * are read as text with `value->>'name'`.
 */
export function jsonRows(dialect: Dialect): string {
  return dialect === 'sqlite'
    ? '(select value from json_each(?))'
    : '(select value from jsonb_array_elements(?::jsonb))';
}
