import type { Dialect } from 'mortise/sdk';

/**
 * A table of rows that are bound as one JSON array of objects: `update … from ${jsonRows(dialect, columns)} v where …`.
 * Not for text that may contain NUL or a lone surrogate, which PostgreSQL's JSON cannot represent.
 */
export function jsonRows(dialect: Dialect, columns: Readonly<Record<string, 'text' | 'integer'>>): string {
  const entries = Object.entries(columns);
  return dialect === 'sqlite'
    ? `(select ${entries.map(([name]) => `value ->> '${name}' as ${name}`).join(', ')} from json_each(?))`
    : `(select * from json_to_recordset(?::json) as t(${entries.map(([name, type]) => `${name} ${type}`).join(', ')}))`;
}
